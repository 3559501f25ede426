#include "tools/musterctl/exit_code.h"

#include "absl/strings/cord.h"

namespace muster::ctl {
namespace {

constexpr char kVersionPayload[] = "muster.ctl/version-mismatch";

}  // namespace

ExitCode ExitCodeOf(const absl::Status& status) {
  if (status.GetPayload(kVersionPayload).has_value()) return ExitCode::kVersionMismatch;
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return ExitCode::kOk;
    case absl::StatusCode::kInvalidArgument:
      return ExitCode::kUsage;
    case absl::StatusCode::kDeadlineExceeded:
      return ExitCode::kTimeout;
    case absl::StatusCode::kUnavailable:
      return ExitCode::kUnreachable;
    default:
      return ExitCode::kFailed;
  }
}

ExitCode ExitCodeOf(v1::JobState state) {
  if (state == v1::SUCCEEDED) return ExitCode::kOk;
  if (state == v1::CANCELLED) return ExitCode::kCancelled;
  return ExitCode::kFailed;
}

absl::Status MarkVersionMismatch(absl::Status status) {
  status.SetPayload(kVersionPayload, absl::Cord());
  return status;
}

}  // namespace muster::ctl
