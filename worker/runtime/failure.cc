#include "worker/runtime/failure.h"

namespace muster::worker {
namespace {

constexpr Failure kFenced = {v1::TRANSIENT, ExitCode::kFenced};
constexpr Failure kPeerLost = {v1::PEER_LOST, ExitCode::kPeerLost};
constexpr Failure kPermanent = {v1::PERMANENT, ExitCode::kPermanent};
constexpr Failure kTransient = {v1::TRANSIENT, ExitCode::kTransient};

}  // namespace

Failure Classify(Stage stage, const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
      // The agent itself is no peer.
      return stage == Stage::kAgent ? kTransient : kPeerLost;
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kCancelled:
      return stage == Stage::kSave ? kTransient : kPeerLost;
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kNotFound:
      if (stage == Stage::kAgent) return kFenced;
      break;
    default:
      break;
  }
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kDataLoss:
      // An address that cannot be listened on is the node's fault, and the job may do well on another.
      return stage == Stage::kConnect ? kTransient : kPermanent;
    default:
      return kTransient;
  }
}

}  // namespace muster::worker
