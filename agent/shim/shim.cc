#include "agent/shim/shim.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "agent/shim/cri_log.h"
#include "agent/shim/launch.h"
#include "agent/shim/oom_count.h"
#include "agent/shim/process_tree.h"
#include "agent/shim/records.h"
#include "common/log.h"
#include "common/status_macros.h"

namespace muster::shim {
namespace {

// How often a tree that was killed is looked at again, besides when a child's death is signalled.
constexpr absl::Duration kReapInterval = absl::Milliseconds(20);
// Somebody outside the tree may hold an end of the pipe (it can be sent over a socket): not waited for any longer.
constexpr absl::Duration kDrainLimit = absl::Seconds(1);

absl::Status SystemError(absl::string_view what) {
  return absl::InternalError(absl::StrCat("cannot ", what, ": ", std::strerror(errno)));
}

// One output stream of the worker.
struct Output {
  explicit Output(absl::string_view name) : lines(name) {}
  int fd = -1;
  CriLines lines;
};

class Shim {
 public:
  Shim(const ShimOptions& options, Clock* clock) : options_(options), clock_(clock) {}

  absl::Status Run() {
    MUSTER_RETURN_IF_ERROR(BecomeSubreaper());
    MUSTER_RETURN_IF_ERROR(OpenLog());
    MUSTER_RETURN_IF_ERROR(Start());
    last_agent_ = clock_->Now();
    while (!Finished()) Once();
    for (Output& out : outputs_) log_->Write(out.lines.Finish(clock_->Now()), clock_->Now());
    for (const int fd : agents_) ::close(fd);
    return absl::OkStatus();
  }

 private:
  absl::Status BecomeSubreaper() {
    ::setsid();  // fails only if this is a session's leader already
    if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return SystemError("become a subreaper");
    sigset_t mask;
    sigemptyset(&mask);
    for (const int signal : {SIGCHLD, SIGTERM, SIGINT}) sigaddset(&mask, signal);
    if (::sigprocmask(SIG_BLOCK, &mask, nullptr) != 0) return SystemError("block signals");
    signals_ = ::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals_ < 0) return SystemError("make a signalfd");
    ::signal(SIGPIPE, SIG_IGN);
    ::signal(SIGHUP, SIG_IGN);
    return absl::OkStatus();
  }

  absl::Status OpenLog() {
    const std::string path = absl::StrCat(options_.dir, "/", kLogName);
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0) return SystemError(absl::StrCat("open ", path));
    log_ = std::make_unique<LogFile>(fd);
    return absl::OkStatus();
  }

  absl::Status Start() {
    oom_kills_before_ = CgroupOomKills();
    MUSTER_ASSIGN_OR_RETURN(const Launched launched, Launch(options_.command, options_.working_dir));
    outputs_[0].fd = launched.out_fd;
    outputs_[1].fd = launched.err_fd;
    if (!launched.error.empty()) {
      ExitRecord record;
      record.start_error = launched.error;
      Ended(record);
      return absl::OkStatus();
    }
    lead_ = launched.pid;
    StartRecord record;
    record.shim_pid = ::getpid();
    record.pid = launched.pid;
    record.start_ticks = StartTicks(launched.pid);
    record.started_at = clock_->Now();
    start_packet_ = absl::StrCat(kStartTag, Encode(record));
    WriteRecord(kInfoName, Encode(record));
    return absl::OkStatus();
  }

  // Nothing of the worker is left and all its output was read.
  bool Finished() {
    if (!exit_packet_ || !tree_gone_) return false;
    if (outputs_[0].fd < 0 && outputs_[1].fd < 0) return true;
    return clock_->Now() >= drain_until_;
  }

  absl::Duration PollTimeout() {
    const absl::Time now = clock_->Now();
    absl::Duration timeout = absl::InfiniteDuration();
    if (killing_ && !tree_gone_) timeout = kReapInterval;
    if (exit_packet_ && tree_gone_) timeout = drain_until_ - now;
    if (agents_.empty() && !killing_) timeout = std::min(timeout, last_agent_ + options_.orphan_after - now);
    return timeout;
  }

  void Once() {
    std::vector<pollfd> fds = {{signals_, POLLIN, 0}, {options_.listener, POLLIN, 0}};
    for (const Output& out : outputs_) fds.push_back({out.fd, POLLIN, 0});  // fd -1: skipped by poll
    const std::vector<int> agents = agents_;
    for (const int fd : agents) fds.push_back({fd, POLLIN, 0});

    const absl::Duration timeout = PollTimeout();
    const int64_t millis =
        timeout == absl::InfiniteDuration()
            ? -1
            : std::max<int64_t>(0, absl::ToInt64Milliseconds(absl::Ceil(timeout, absl::Milliseconds(1))));
    ::poll(fds.data(), fds.size(), static_cast<int>(std::min<int64_t>(millis, 1'000'000)));

    // Commands before exits: a kill and the death it causes may come in one turn.
    for (size_t i = 0; i < agents.size(); ++i) {
      if (fds[4 + i].revents != 0) ReadCommands(agents[i]);
    }
    if (fds[1].revents & POLLIN) Accept();
    for (size_t i = 0; i < 2; ++i) {
      if (fds[2 + i].revents != 0) ReadOutput(&outputs_[i]);
    }
    if (fds[0].revents & POLLIN) ReadSignals();
    Reap();
    if (agents_.empty() && !killing_ && clock_->Now() >= last_agent_ + options_.orphan_after) {
      LogWarning("no agent for %s: the worker is killed", absl::FormatDuration(options_.orphan_after));
      orphaned_ = true;
      KillTree();
    }
  }

  void Accept() {
    const int fd = ::accept4(options_.listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    agents_.push_back(fd);
    if (!start_packet_.empty()) Send(fd, start_packet_);
    if (exit_packet_) Send(fd, *exit_packet_);
  }

  void Send(int fd, const std::string& packet) { ::send(fd, packet.data(), packet.size(), MSG_NOSIGNAL); }

  void ReadCommands(int fd) {
    char buffer[kMaxPacket];
    while (true) {
      const ssize_t n = ::recv(fd, buffer, sizeof(buffer), 0);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return;
      if (n <= 0) break;
      const absl::StatusOr<Command> command = DecodeCommand(absl::string_view(buffer, n));
      if (command.ok()) {
        Obey(*command);
      } else {
        LogWarning("a command from the agent is dropped: %s", std::string(command.status().message()));
      }
    }
    ::close(fd);
    std::erase(agents_, fd);
    if (agents_.empty()) last_agent_ = clock_->Now();
  }

  void Obey(const Command& command) {
    if (command.wanted && lead_ > 0) by_agent_ = true;
    switch (command.target) {
      case Command::Target::kLead:
        if (lead_ > 0) ::kill(lead_, command.signal);
        break;
      case Command::Target::kGroup:
        if (lead_ > 0) ::kill(-lead_, command.signal);
        break;
      case Command::Target::kTree:
        if (command.signal == SIGKILL) {
          KillTree();
        } else {
          for (const pid_t pid : Descendants(::getpid())) ::kill(pid, command.signal);
        }
        break;
    }
  }

  void KillTree() {
    killing_ = true;
    if (lead_ > 0) ::kill(-lead_, SIGKILL);
    for (const pid_t pid : Descendants(::getpid())) ::kill(pid, SIGKILL);
  }

  void ReadOutput(Output* out) {
    char buffer[64 * 1024];
    while (out->fd >= 0) {
      const ssize_t n = ::read(out->fd, buffer, sizeof(buffer));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno == EAGAIN) return;
      if (n <= 0) {
        ::close(out->fd);
        out->fd = -1;
        return;
      }
      const absl::Time now = clock_->Now();
      log_->Write(out->lines.Append(absl::string_view(buffer, n), now), now);
      // A worker that never stops writing must not keep us from its signals and commands.
      if (n < static_cast<ssize_t>(sizeof(buffer))) return;
      if (!exit_seen_) return;
    }
  }

  void ReadSignals() {
    signalfd_siginfo info;
    while (::read(signals_, &info, sizeof(info)) == sizeof(info)) {
      if (info.ssi_signo != SIGCHLD && lead_ > 0) ::kill(lead_, static_cast<int>(info.ssi_signo));
    }
  }

  void Reap() {
    while (!tree_gone_) {
      int status = 0;
      const pid_t pid = ::waitpid(-1, &status, WNOHANG);
      if (pid < 0 && errno == EINTR) continue;
      if (pid < 0) {  // ECHILD: no process is left below
        tree_gone_ = true;
        drain_until_ = clock_->Now() + kDrainLimit;
        return;
      }
      if (pid == 0) break;
      if (pid == lead_) LeadEnded(status);
    }
    if (killing_ && !tree_gone_) {
      for (const pid_t pid : Descendants(::getpid())) ::kill(pid, SIGKILL);
    }
  }

  void LeadEnded(int status) {
    lead_ = -1;
    exit_seen_ = true;
    ExitRecord record;
    if (WIFSIGNALED(status)) {
      record.signal = WTERMSIG(status);
    } else {
      record.code = WEXITSTATUS(status);
    }
    record.by_agent = by_agent_;
    record.orphaned = orphaned_;
    if (const std::optional<int64_t> kills = CgroupOomKills(); kills && oom_kills_before_) {
      record.oom = record.signal == SIGKILL && !by_agent_ && !orphaned_ && *kills > *oom_kills_before_ ? OomKilled::kYes
                                                                                                       : OomKilled::kNo;
    }
    // What it wrote is in the pipes: on file before its end is told, so that its last lines can be told with it.
    for (Output& out : outputs_) ReadOutput(&out);
    Ended(record);
    killing_ = true;
  }

  void Ended(ExitRecord record) {
    record.at = clock_->Now();
    WriteRecord(kExitName, Encode(record));
    exit_packet_ = absl::StrCat(kExitTag, Encode(record));
    for (const int fd : agents_) Send(fd, *exit_packet_);
  }

  // Renamed into place, not synced: it must outlive the agent and the shim, not the machine, with which the worker
  // dies.
  void WriteRecord(absl::string_view name, const std::string& content) {
    const std::string path = absl::StrCat(options_.dir, "/", name);
    const std::string aside = path + ".tmp";
    const int fd = ::open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    const bool written = fd >= 0 && ::write(fd, content.data(), content.size()) == static_cast<ssize_t>(content.size());
    const int error = errno;
    if (fd >= 0) ::close(fd);
    if (!written || ::rename(aside.c_str(), path.c_str()) != 0) {
      LogError("cannot write %s: %s; an agent that starts later will not know how the worker ended", path,
               std::strerror(written ? errno : error));
    }
  }

  const ShimOptions& options_;
  Clock* const clock_;
  int signals_ = -1;
  std::unique_ptr<LogFile> log_;
  Output outputs_[2] = {Output("stdout"), Output("stderr")};
  std::vector<int> agents_;
  // When the last agent's connection ended, or the start.
  absl::Time last_agent_;
  std::optional<int64_t> oom_kills_before_;

  // -1: not running (any more).
  pid_t lead_ = -1;
  bool by_agent_ = false;
  bool orphaned_ = false;
  bool exit_seen_ = false;
  std::string start_packet_;
  std::optional<std::string> exit_packet_;
  // Everything below is to die.
  bool killing_ = false;
  bool tree_gone_ = false;
  absl::Time drain_until_;
};

}  // namespace

absl::Status RunShim(const ShimOptions& options, Clock* clock) { return Shim(options, clock).Run(); }

}  // namespace muster::shim
