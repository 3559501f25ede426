#ifndef MUSTER_TOOLS_MUSTERCTL_EXIT_CODE_H_
#define MUSTER_TOOLS_MUSTERCTL_EXIT_CODE_H_

#include "absl/status/status.h"
#include "proto/store.pb.h"

namespace muster::ctl {

// How musterctl ends (docs/cli.md). Scripts rely on the numbers.
enum class ExitCode {
  kOk = 0,
  // What was asked could not be done, or the job that was waited for has failed.
  kFailed = 1,
  // The command line, the job spec or the data are wrong.
  kUsage = 2,
  // The job that was waited for was cancelled.
  kCancelled = 3,
  // A time limit of the command line is over.
  kTimeout = 4,
  // No answer from the coordinator.
  kUnreachable = 5,
  // musterctl and the coordinator are of releases that do not understand each other.
  kVersionMismatch = 6,
};

// A failed precondition is kFailed; the client marks a version mismatch (see MarkVersionMismatch).
ExitCode ExitCodeOf(const absl::Status& status);
// Of a finished job; kFailed for one that has not finished.
ExitCode ExitCodeOf(v1::JobState state);

// Tells "another protocol version" from other failed preconditions.
absl::Status MarkVersionMismatch(absl::Status status);

}  // namespace muster::ctl

#endif  // MUSTER_TOOLS_MUSTERCTL_EXIT_CODE_H_
