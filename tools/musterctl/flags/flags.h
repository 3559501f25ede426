#ifndef MUSTER_TOOLS_MUSTERCTL_FLAGS_FLAGS_H_
#define MUSTER_TOOLS_MUSTERCTL_FLAGS_FLAGS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/musterctl/commands/session.h"
#include "tools/musterctl/exit_code.h"

namespace muster::ctl {

// What a command line asks for.
struct Invocation {
  // Not empty: print it, and nothing else is to do. Ends in '\n'.
  std::string help;
  // HOST:PORT.
  std::string coordinator;
  absl::Duration connect_timeout = absl::Seconds(5);
  bool json = false;
  std::function<absl::StatusOr<ExitCode>(Session&)> run;
};

// `arguments` without the program's name; `environment` is MUSTER_COORDINATOR's value, or empty. INVALID_ARGUMENT: one
// line that names the flag and the remedy.
absl::StatusOr<Invocation> ParseFlags(std::vector<std::string> arguments, const std::string& environment);

}  // namespace muster::ctl

#endif  // MUSTER_TOOLS_MUSTERCTL_FLAGS_FLAGS_H_
