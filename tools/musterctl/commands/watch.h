#ifndef MUSTER_TOOLS_MUSTERCTL_COMMANDS_WATCH_H_
#define MUSTER_TOOLS_MUSTERCTL_COMMANDS_WATCH_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tools/musterctl/commands/session.h"
#include "tools/musterctl/exit_code.h"
#include "tools/musterctl/view/watch_model.h"

namespace muster::ctl {

// Both end with the job's exit code (ExitCodeOf(JobState)), or kTimeout when `timeout` is over.

struct WatchOptions {
  std::string job;
  // Reached: kOk. A job that ends before it: kFailed with a line that says so, kCancelled if it was cancelled.
  WatchGoal until;
  absl::Duration timeout = absl::InfiniteDuration();
};
// Draws the live view on a terminal; elsewhere a line for each event and, every few seconds, for progress. With JSON a
// JobSnapshot a line.
absl::StatusOr<ExitCode> RunWatch(Session& session, const WatchOptions& options);

struct WaitOptions {
  std::string job;
  absl::Duration timeout = absl::InfiniteDuration();
};
// Silent until the end; then one line, or the JobView.
absl::StatusOr<ExitCode> RunWait(Session& session, const WaitOptions& options);

}  // namespace muster::ctl

#endif  // MUSTER_TOOLS_MUSTERCTL_COMMANDS_WATCH_H_
