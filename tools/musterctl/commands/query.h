#ifndef MUSTER_TOOLS_MUSTERCTL_COMMANDS_QUERY_H_
#define MUSTER_TOOLS_MUSTERCTL_COMMANDS_QUERY_H_

#include <string>

#include "absl/status/statusor.h"
#include "tools/musterctl/commands/session.h"
#include "tools/musterctl/exit_code.h"

namespace muster::ctl {

// Commands that ask once and print the answer. Errors are those of CtlClient.

struct ListOptions {
  bool unfinished_only = false;
};
absl::StatusOr<ExitCode> RunList(Session& session, const ListOptions& options);

struct DescribeOptions {
  std::string job;
  // 0: all.
  int events = 20;
};
absl::StatusOr<ExitCode> RunDescribe(Session& session, const DescribeOptions& options);

struct CancelOptions {
  std::string job;
};
absl::StatusOr<ExitCode> RunCancel(Session& session, const CancelOptions& options);

absl::StatusOr<ExitCode> RunNodes(Session& session);
absl::StatusOr<ExitCode> RunCluster(Session& session);

}  // namespace muster::ctl

#endif  // MUSTER_TOOLS_MUSTERCTL_COMMANDS_QUERY_H_
