#ifndef MUSTER_TOOLS_MUSTERCTL_COMMANDS_SESSION_H_
#define MUSTER_TOOLS_MUSTERCTL_COMMANDS_SESSION_H_

#include <functional>
#include <ostream>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/file_system.h"
#include "tools/musterctl/ctl_client.h"
#include "tools/musterctl/view/style.h"

namespace muster::ctl {

// Where a command runs: its output, the time, and the way to the coordinator.
struct Session {
  std::ostream* out = nullptr;
  std::ostream* err = nullptr;
  // Print messages as JSON.
  bool json = false;
  // For text that is printed once.
  Style style;
  // Columns and lines of the terminal now; {0, 0} when `out` is none.
  std::function<std::pair<int, int>()> terminal_size = [] { return std::pair(0, 0); };
  Clock* clock = Clock::Real();
  FileSystem* files = FileSystem::Posix();
  // Of the coordinator, for messages.
  std::string address;
  // Reaches the coordinator and checks its version. The client lives as long as the session.
  std::function<absl::StatusOr<CtlClient*>()> connect;
};

}  // namespace muster::ctl

#endif  // MUSTER_TOOLS_MUSTERCTL_COMMANDS_SESSION_H_
