#include "tests/e2e/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "common/clock.h"

namespace muster::e2e {
namespace {

// What the child does between fork and exec; only system calls, since the parent has threads.
[[noreturn]] void RunChild(const Process::Options& options, char* const* argv, char* const* env, int gate) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::setpgid(0, 0);
  const int in = ::open("/dev/null", O_RDONLY);
  const int flags = O_WRONLY | O_CREAT | O_APPEND;
  const int out = ::open(options.stdout_path.c_str(), flags, 0644);
  const int err = ::open(options.stderr_path.c_str(), flags, 0644);
  if (in < 0 || out < 0 || err < 0) ::_exit(126);
  ::dup2(in, 0);
  ::dup2(out, 1);
  ::dup2(err, 2);
  if (gate >= 0) {
    if (::unshare(CLONE_NEWNET) != 0) ::_exit(125);
    char go = 0;
    if (::read(gate, &go, 1) != 1) ::_exit(124);
  }
  ::execve(argv[0], argv, env);
  ::_exit(127);
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (std::string& s : strings) pointers.push_back(s.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Process::Process(const Options& options) {
  if (options.argv.empty()) return;
  std::vector<std::string> args = options.argv;
  std::vector<std::string> environment;
  environment.reserve(options.env.size());
  for (const auto& [name, value] : options.env) environment.push_back(name + "=" + value);
  const std::vector<char*> argv = Pointers(args);
  const std::vector<char*> env = Pointers(environment);
  int gate[2] = {-1, -1};
  if (options.own_network && ::pipe2(gate, O_CLOEXEC) != 0) return;
  pid_ = ::fork();
  if (pid_ == 0) RunChild(options, argv.data(), env.data(), gate[0]);
  if (gate[0] >= 0) ::close(gate[0]);
  gate_ = gate[1];
}

Process::~Process() { Kill(); }

Process::Process(Process&& other) noexcept { *this = std::move(other); }

Process& Process::operator=(Process&& other) noexcept {
  if (this == &other) return *this;
  Kill();
  pid_ = std::exchange(other.pid_, -1);
  gate_ = std::exchange(other.gate_, -1);
  ended_ = other.ended_;
  return *this;
}

void Process::Release() {
  if (gate_ < 0) return;
  const ssize_t written = ::write(gate_, "g", 1);
  static_cast<void>(written);
  ::close(gate_);
  gate_ = -1;
}

void Process::Signal(int signal) {
  if (pid_ > 0 && !ended_.has_value()) ::kill(pid_, signal);
}

void Process::Kill() {
  if (gate_ >= 0) ::close(std::exchange(gate_, -1));
  Signal(SIGKILL);
  Wait(absl::Seconds(10));
}

std::optional<Ended> Process::Wait(absl::Duration timeout) {
  if (pid_ <= 0 || ended_.has_value()) return ended_;
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  pollfd waited{pidfd, POLLIN, 0};
  const absl::Time deadline = Now() + timeout;
  int ready = 0;
  do {
    ready = ::poll(&waited, 1, static_cast<int>(std::max<int64_t>(0, absl::ToInt64Milliseconds(deadline - Now()))));
  } while (ready < 0 && errno == EINTR);
  ::close(pidfd);
  int status = 0;
  if (ready <= 0 || ::waitpid(pid_, &status, 0) != pid_) return std::nullopt;
  ended_ = WIFSIGNALED(status) ? Ended{0, WTERMSIG(status)} : Ended{WEXITSTATUS(status), 0};
  return ended_;
}

std::vector<pid_t> ProcessesWith(const std::map<std::string, std::string>& wanted) {
  std::vector<pid_t> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream in(entry.path() / "environ", std::ios::binary);
    std::string environment("\0", 1);
    environment.append(std::istreambuf_iterator<char>(in), {});
    bool all = true;
    for (const auto& [key, value] : wanted) {
      const std::string assignment = std::string("\0", 1) + key + "=" + value + std::string("\0", 1);
      all = all && environment.find(assignment) != std::string::npos;
    }
    if (all) found.push_back(std::stoi(name));
  }
  return found;
}

bool IsAlive(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  const std::string stat(std::istreambuf_iterator<char>(in), {});
  const size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && stat.size() > name_end + 2 && stat[name_end + 2] != 'Z';
}

absl::Time Now() { return Clock::Real()->Now(); }

void PollPause() {
  std::mutex mu;
  std::condition_variable never;
  std::unique_lock<std::mutex> lock(mu);
  Clock::Real()->WaitUntil(lock, never, Now() + absl::Milliseconds(20), [] { return false; });
}

}  // namespace muster::e2e
