#include "coordinator/core/turn.h"

#include "absl/strings/str_cat.h"
#include "coordinator/core/records.h"
#include "gtest/gtest.h"

namespace muster::coordinator {
namespace {

class TurnTest : public testing::Test {
 protected:
  TurnTest() {
    job_.record.set_job_id("a-1");
    state_.jobs_by_number[1] = JobId("a-1");
  }

  State state_;
  Job& job_ = state_.jobs[JobId("a-1")];
  CoreOptions options_;
};

TEST_F(TurnTest, EachTouchedRecordIsPutOnce) {
  Effects effects;
  Turn turn(options_, &state_, absl::UnixEpoch(), &effects);
  turn.Touch(job_);
  turn.Touch(job_);
  turn.Finish();
  ASSERT_EQ(effects.puts.size(), 1u);
  EXPECT_EQ(effects.puts[0].key, "job/a-1");
  EXPECT_EQ(effects.changed.count(JobId("a-1")), 1u);
}

TEST_F(TurnTest, ErasedCheckpointIsNotPut) {
  Effects effects;
  Turn turn(options_, &state_, absl::UnixEpoch(), &effects);
  job_.checkpoints[100].set_step(100);
  turn.TouchCheckpoint(job_, 100);
  turn.EraseCheckpoint(job_, 100);
  turn.Finish();
  EXPECT_TRUE(effects.puts.empty());
  EXPECT_EQ(effects.deletes, std::vector<std::string>{CheckpointKey("a-1", 100)});
}

TEST_F(TurnTest, OldestEventsGoBeyondTheBound) {
  for (int i = 0; i < 10'000; ++i) {
    Effects effects;
    Turn turn(options_, &state_, absl::UnixEpoch(), &effects);
    turn.AddEvent(job_, "Something", "");
    EXPECT_TRUE(effects.deletes.empty());
  }
  Effects effects;
  Turn turn(options_, &state_, absl::UnixEpoch(), &effects);
  turn.AddEvent(job_, "Something", "");
  EXPECT_EQ(effects.deletes, std::vector<std::string>{EventKey("a-1", 0)});
  EXPECT_EQ(job_.events.size(), 10'000u);
  EXPECT_EQ(job_.record.next_event(), 10'001u);
}

TEST_F(TurnTest, RevisionsGrowEvenIfTheClockDoesNot) {
  Node& node = state_.nodes[NodeId("n1")];
  node.session = SessionId(1);
  uint64_t before = 0;
  for (int i = 0; i < 3; ++i) {
    Effects effects;
    Turn turn(options_, &state_, absl::FromUnixSeconds(1'000), &effects);
    turn.Tell(NodeId("n1"));
    turn.Finish();
    ASSERT_EQ(effects.sends.size(), 1u);
    EXPECT_GT(effects.sends[0].message.desired().revision(), before);
    before = effects.sends[0].message.desired().revision();
  }
}

}  // namespace
}  // namespace muster::coordinator
