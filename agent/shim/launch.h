#ifndef MUSTER_AGENT_SHIM_LAUNCH_H_
#define MUSTER_AGENT_SHIM_LAUNCH_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace muster::shim {

struct Launched {
  pid_t pid = -1;
  // Ends of its output pipes; non-blocking, the caller's to close. -1 when it could not be started.
  int out_fd = -1;
  int err_fd = -1;
  // Not empty: the command could not be executed. One line: names the folder or the program, and the remedy.
  std::string error;
};

// Forks and executes `command` in `working_dir`, in a process group of its own, with no standard input, default
// signal handling, and SIGKILL as its fate should this process die. INTERNAL when the system is out of processes or
// descriptors.
absl::StatusOr<Launched> Launch(const std::vector<std::string>& command, const std::string& working_dir);

}  // namespace muster::shim

#endif  // MUSTER_AGENT_SHIM_LAUNCH_H_
