#ifndef MUSTER_TOOLS_MUSTERCTL_COMMANDS_LOGS_H_
#define MUSTER_TOOLS_MUSTERCTL_COMMANDS_LOGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/musterctl/commands/session.h"
#include "tools/musterctl/exit_code.h"

namespace muster::ctl {

struct LogsOptions {
  std::string job;
  bool follow = false;
  // Empty: all.
  std::vector<int32_t> ranks;
  // 0: all.
  uint64_t generation = 0;
  // 0: all.
  int32_t tail = 0;
};

// Each line after "<node>/<rank> g<generation> | "; with JSON a LogLine a line. Following, it ends with the job. A
// coordinator that restarts in between neither loses nor repeats a line.
absl::StatusOr<ExitCode> RunLogs(Session& session, const LogsOptions& options);

}  // namespace muster::ctl

#endif  // MUSTER_TOOLS_MUSTERCTL_COMMANDS_LOGS_H_
