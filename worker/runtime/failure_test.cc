#include "worker/runtime/failure.h"

#include <gtest/gtest.h>

namespace muster::worker {
namespace {

TEST(Failure, TheSameCodeMeansDifferentThingsAtDifferentStages) {
  const struct {
    Stage stage;
    absl::Status status;
    v1::FailureKind kind;
    ExitCode code;
  } cases[] = {
      {Stage::kAgent, absl::FailedPreconditionError(""), v1::TRANSIENT, ExitCode::kFenced},
      {Stage::kAgent, absl::NotFoundError(""), v1::TRANSIENT, ExitCode::kFenced},
      {Stage::kAgent, absl::UnavailableError(""), v1::TRANSIENT, ExitCode::kTransient},
      {Stage::kAgent, absl::DeadlineExceededError(""), v1::PEER_LOST, ExitCode::kPeerLost},
      {Stage::kConnect, absl::UnavailableError(""), v1::PEER_LOST, ExitCode::kPeerLost},
      {Stage::kConnect, absl::InvalidArgumentError(""), v1::TRANSIENT, ExitCode::kTransient},
      {Stage::kStart, absl::NotFoundError(""), v1::PERMANENT, ExitCode::kPermanent},
      {Stage::kStart, absl::DataLossError(""), v1::PERMANENT, ExitCode::kPermanent},
      {Stage::kStart, absl::InternalError(""), v1::TRANSIENT, ExitCode::kTransient},
      {Stage::kTrain, absl::UnavailableError(""), v1::PEER_LOST, ExitCode::kPeerLost},
      {Stage::kTrain, absl::DeadlineExceededError(""), v1::PEER_LOST, ExitCode::kPeerLost},
      {Stage::kTrain, absl::FailedPreconditionError(""), v1::PERMANENT, ExitCode::kPermanent},
      {Stage::kSave, absl::ResourceExhaustedError(""), v1::PERMANENT, ExitCode::kPermanent},
      {Stage::kSave, absl::PermissionDeniedError(""), v1::PERMANENT, ExitCode::kPermanent},
      {Stage::kSave, absl::DeadlineExceededError(""), v1::TRANSIENT, ExitCode::kTransient},
  };
  for (const auto& c : cases) {
    const Failure f = Classify(c.stage, c.status);
    EXPECT_EQ(f.kind, c.kind) << static_cast<int>(c.stage) << " " << c.status;
    EXPECT_EQ(f.code, c.code) << static_cast<int>(c.stage) << " " << c.status;
  }
}

}  // namespace
}  // namespace muster::worker
