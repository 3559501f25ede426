#include "agent/runtime/shims.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/runtime/spawn_shim.h"
#include "agent/runtime/strays.h"
#include "common/log.h"
#include "common/proto_time.h"

namespace muster::agent {
namespace {

shim::Command::Target TargetOf(SignalTarget target) {
  switch (target) {
    case SignalTarget::kLead:
      return shim::Command::Target::kLead;
    case SignalTarget::kGroup:
      return shim::Command::Target::kGroup;
    case SignalTarget::kTree:
      return shim::Command::Target::kTree;
  }
  return shim::Command::Target::kTree;
}

}  // namespace

Shims::Shims(ShimsOptions options) : options_(std::move(options)) {
  wake_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  watcher_ = std::thread([this] { Watch(); });
}

Shims::~Shims() {
  {
    std::lock_guard<std::mutex> lock(mu_);
    stop_ = true;
  }
  Wake();
  watcher_.join();
  for (const auto& [worker, shim] : shims_) ::close(shim.fd);
  ::close(wake_fd_);
}

void Shims::Wake() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(wake_fd_, &one, sizeof(one));
}

void Shims::Start(const WorkerKey& worker, const WorkerFolder& folder, const LaunchPlan& plan) {
  ShimStart start;
  start.program = options_.shim_program;
  start.folder = folder.path();
  start.working_dir = plan.working_dir.empty() ? folder.scratch() : plan.working_dir;
  start.orphan_after = options_.orphan_after;
  start.command = plan.command.empty() ? std::vector<std::string>{options_.worker_program} : plan.command;
  start.environment = MergedEnvironment(plan.env, plan.default_env);
  const absl::StatusOr<int> fd = SpawnShim(start);
  if (!fd.ok() && !absl::IsNotFound(fd.status())) return NotStarted(worker, std::string(fd.status().message()));
  std::lock_guard<std::mutex> lock(mu_);
  // NOT_FOUND: it has come and gone already; its records tell.
  Shim shim{folder, fd.ok() ? *fd : -1};
  if (!fd.ok()) return OnClosed(worker, shim);
  shims_.emplace(worker, std::move(shim));
  Wake();
}

bool Shims::Adopt(const WorkerKey& worker, const WorkerFolder& folder) {
  const absl::StatusOr<int> fd = ConnectShim(folder.path());
  std::lock_guard<std::mutex> lock(mu_);
  Shim shim{folder, fd.ok() ? *fd : -1};
  if (fd.ok()) {
    shims_.emplace(worker, std::move(shim));
    Wake();
    return true;
  }
  if (!folder.LoadExit() && !folder.LoadStart()) return false;
  OnClosed(worker, shim);
  return true;
}

void Shims::Signal(const SignalWorker& signal) {
  std::lock_guard<std::mutex> lock(mu_);
  const auto it = shims_.find(signal.worker);
  if (it == shims_.end()) return;
  if (signal.wanted) it->second.end_wanted = true;
  const std::string packet = shim::Encode(shim::Command{signal.signal, TargetOf(signal.target), signal.wanted});
  if (::send(it->second.fd, packet.data(), packet.size(), MSG_NOSIGNAL) < 0 && errno != EPIPE && errno != ECONNRESET) {
    LogWarning("%s: cannot tell its shim to send signal %d: %s", signal.worker.ToString(), signal.signal,
               std::strerror(errno));
  }
}

void Shims::Watch() {
  while (true) {
    std::vector<pollfd> fds = {{wake_fd_, POLLIN, 0}};
    std::vector<WorkerKey> workers;
    {
      std::lock_guard<std::mutex> lock(mu_);
      if (stop_) return;
      for (const auto& [worker, shim] : shims_) {
        fds.push_back({shim.fd, POLLIN, 0});
        workers.push_back(worker);
      }
    }
    ::poll(fds.data(), fds.size(), -1);
    if (fds[0].revents != 0) {
      uint64_t count;
      [[maybe_unused]] const ssize_t n = ::read(wake_fd_, &count, sizeof(count));
    }
    std::lock_guard<std::mutex> lock(mu_);
    for (size_t i = 0; i < workers.size(); ++i) {
      if (fds[i + 1].revents == 0) continue;
      const auto it = shims_.find(workers[i]);
      if (Receive(it->first, it->second)) continue;
      ::close(it->second.fd);
      OnClosed(it->first, it->second);
      shims_.erase(it);
    }
  }
}

bool Shims::Receive(const WorkerKey& worker, Shim& shim) {
  char buffer[shim::kMaxPacket];
  while (true) {
    const ssize_t n = ::recv(shim.fd, buffer, sizeof(buffer), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return true;
    if (n <= 0) return false;
    OnPacket(worker, shim, absl::string_view(buffer, n));
  }
}

void Shims::OnPacket(const WorkerKey& worker, Shim& shim, absl::string_view packet) {
  if (absl::StartsWith(packet, shim::kStartTag)) {
    const absl::StatusOr<shim::StartRecord> record = shim::DecodeStart(packet.substr(sizeof(shim::kStartTag) - 1));
    if (!record.ok() || shim.started) return;
    shim.started = true;
    options_.on_event(WorkerStarted{worker, record->pid, record->started_at});
  } else if (absl::StartsWith(packet, shim::kExitTag)) {
    const absl::StatusOr<shim::ExitRecord> record = shim::DecodeExit(packet.substr(sizeof(shim::kExitTag) - 1));
    if (record.ok()) OnExit(worker, shim, *record);
  }
}

void Shims::OnExit(const WorkerKey& worker, Shim& shim, const shim::ExitRecord& record) {
  if (shim.exited) return;
  shim.exited = true;
  options_.on_event(WorkerExited{worker, ToExitInfo(record, shim.folder.log())});
}

// The shim has ended: all is done, or it was killed.
void Shims::OnClosed(const WorkerKey& worker, Shim& shim) {
  if (const auto start = shim.folder.LoadStart(); start && !shim.started) {
    shim.started = true;
    options_.on_event(WorkerStarted{worker, start->pid, start->started_at});
  }
  if (const auto exit = shim.folder.LoadExit(); exit && !shim.exited) OnExit(worker, shim, *exit);
  if (!shim.exited && shim.started) {
    // Killed by somebody from outside. The worker dies with its shim (PR_SET_PDEATHSIG); what it has started may not.
    std::mutex mu;
    std::condition_variable cv;
    std::unique_lock<std::mutex> lock(mu);
    for (int i = 0; i < 50 && KillStrays(worker, options_.socket_path) > 0; ++i) {
      options_.clock->WaitUntil(lock, cv, options_.clock->Now() + absl::Milliseconds(5), [] { return false; });
    }
    shim::ExitRecord record;
    record.signal = SIGKILL;
    record.at = Clock::Real()->Now();
    record.by_agent = shim.end_wanted;
    v1::ExitInfo exit = ToExitInfo(record, shim.folder.log());
    exit.add_last_lines("muster-agent: its shim was killed, and the worker with it");
    shim.exited = true;
    options_.on_event(WorkerExited{worker, exit});
  }
  if (!shim.exited) {
    const std::string log = absl::StrCat(shim.folder.path(), "/", shim::kShimLogName);
    return NotStarted(worker, absl::StrCat("its shim ended before it could start the worker; see ", log));
  }
  options_.on_event(WorkerGone{worker});
}

void Shims::NotStarted(const WorkerKey& worker, const std::string& why) {
  v1::ExitInfo exit;
  exit.set_start_error(why);
  *exit.mutable_at() = ToProto(Clock::Real()->Now());
  options_.on_event(WorkerExited{worker, exit});
  options_.on_event(WorkerGone{worker});
}

}  // namespace muster::agent
