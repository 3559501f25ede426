#ifndef MUSTER_TESTS_E2E_PROCESS_H_
#define MUSTER_TESTS_E2E_PROCESS_H_

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace muster::e2e {

// How a process ended: an exit code, or a signal.
struct Ended {
  int code = 0;
  int signal = 0;
};

// A child process. It dies with the test process; destroyed, it is killed and reaped.
class Process {
 public:
  struct Options {
    std::vector<std::string> argv;
    // Its whole environment.
    std::map<std::string, std::string> env;
    // Files that take its output, appended to; stderr may be the same file as stdout.
    std::string stdout_path;
    std::string stderr_path;
    // In a network namespace of its own, with nothing but a loopback that is down. It waits there until Release().
    bool own_network = false;
  };

  // Starts it; a program that cannot be executed exits 127. No argv: no process.
  explicit Process(const Options& options);
  ~Process();
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;

  pid_t pid() const { return pid_; }
  // Lets a process with its own network go on to its program.
  void Release();
  void Signal(int signal);
  // SIGKILL, and reaps it.
  void Kill();
  // Nothing if it still runs after `timeout`.
  std::optional<Ended> Wait(absl::Duration timeout);

 private:
  pid_t pid_ = -1;
  int gate_ = -1;
  std::optional<Ended> ended_;
};

// Living processes in whose environment all of `wanted` are set so.
std::vector<pid_t> ProcessesWith(const std::map<std::string, std::string>& wanted);

// Not a zombie.
bool IsAlive(pid_t pid);

// Calls `done` every few milliseconds until it is true or `timeout` is over; returns its last value.
template <typename Done>
bool WaitUntil(absl::Duration timeout, Done done);

void PollPause();
absl::Time Now();

template <typename Done>
bool WaitUntil(absl::Duration timeout, Done done) {
  const absl::Time deadline = Now() + timeout;
  while (!done()) {
    if (Now() >= deadline) return done();
    PollPause();
  }
  return true;
}

}  // namespace muster::e2e

#endif  // MUSTER_TESTS_E2E_PROCESS_H_
