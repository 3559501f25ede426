#include "coordinator/rpc/watch_cursor.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/version.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A job that trains on one node, driven through the core.
class WatchCursorTest : public testing::Test {
 protected:
  void SetUp() override {
    CoreOptions options;
    options.gather_window = absl::ZeroDuration();
    options.diagnose_window = absl::ZeroDuration();
    Effects effects;
    core_ = *Core::Load(options, {}, now_, "cluster", &effects);

    AgentConnected connected{SessionId(1), {}};
    connected.registration.set_protocol(kProtocolVersion);
    connected.registration.set_node_id("n1");
    connected.registration.set_agent_uid("uid");
    connected.registration.set_incarnation("1");
    connected.registration.set_address("10.0.0.1");
    connected.registration.add_slots()->set_device(v1::CPU);
    core_->Step(connected, now_);

    ClientSubmitted submitted{RequestId(1), {}};
    submitted.submit.set_protocol(kProtocolVersion);
    submitted.submit.set_token("a token of enough characters");
    submitted.submit.mutable_spec()->set_name("a");
    v1::JobSpec* spec = submitted.submit.mutable_spec();
    spec->mutable_train()->set_steps(1000);
    spec->mutable_train()->mutable_data()->set_train("/data/tokens.bin");
    spec->mutable_checkpoint()->set_dir("/checkpoints");
    const Effects reply = core_->Step(submitted, now_);
    ASSERT_TRUE(reply.replies.at(0).result.ok()) << reply.replies.at(0).result.status();
    StartGang();
  }

  void Say(v1::AgentMessage message) { core_->Step(AgentSaid{SessionId(1), std::move(message)}, now_); }
  void SayWorker(v1::WorkerState state, int code = 0) {
    v1::AgentMessage m;
    m.mutable_worker()->set_job_id("a-1");
    m.mutable_worker()->set_generation(generation_);
    m.mutable_worker()->set_state(state);
    if (state != v1::EXITED) m.mutable_worker()->set_join_blob("here");
    if (state == v1::EXITED) m.mutable_worker()->mutable_exit()->set_code(code);
    Say(m);
  }
  void StartGang() {
    ++generation_;
    v1::AgentMessage m;
    m.mutable_prepared()->set_job_id("a-1");
    m.mutable_prepared()->set_generation(generation_);
    m.mutable_prepared()->set_master_port(1);
    Say(m);
    SayWorker(v1::RUNNING);
  }
  void Train(int64_t first, int64_t last) {
    v1::AgentMessage m;
    m.mutable_progress()->set_job_id("a-1");
    m.mutable_progress()->set_generation(generation_);
    for (int64_t step = first; step <= last; ++step) m.mutable_progress()->add_steps()->set_step(step);
    Say(m);
  }
  // The worker fails and a new generation runs, from the beginning.
  void FailAndRestart() {
    SayWorker(v1::EXITED, 1);
    now_ += absl::Seconds(2);
    core_->Step(TimePassed{}, now_);
    StartGang();
  }

  static std::vector<std::string> Steps(const v1::JobSnapshot& snapshot) {
    std::vector<std::string> steps;
    for (const v1::StoredStep& s : snapshot.steps()) {
      steps.push_back(absl::StrCat("g", s.generation(), " ", s.metrics().step()));
    }
    return steps;
  }

  absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
  std::unique_ptr<Core> core_;
  uint64_t generation_ = 0;
  WatchCursor cursor_{JobId("a-1")};
};

TEST_F(WatchCursorTest, FirstSnapshotHasTheNewestStepsThenOnlyNewOnes) {
  Train(1, 200);
  const v1::JobSnapshot first = cursor_.Next(core_->state());
  EXPECT_EQ(first.steps_size(), 128);
  EXPECT_EQ(first.steps(0).metrics().step(), 73);
  EXPECT_EQ(first.steps(127).metrics().step(), 200);
  EXPECT_THAT(Steps(cursor_.Next(core_->state())), IsEmpty());
  Train(201, 202);
  EXPECT_THAT(Steps(cursor_.Next(core_->state())), ElementsAre("g1 201", "g1 202"));
}

TEST_F(WatchCursorTest, StepsDoneAgainAreNew) {
  Train(1, 5);
  cursor_.Next(core_->state());
  FailAndRestart();
  EXPECT_THAT(Steps(cursor_.Next(core_->state())), IsEmpty());
  Train(1, 2);
  EXPECT_THAT(Steps(cursor_.Next(core_->state())), ElementsAre("g2 1", "g2 2"));
  Train(3, 6);
  EXPECT_THAT(Steps(cursor_.Next(core_->state())), ElementsAre("g2 3", "g2 4", "g2 5", "g2 6"));
  EXPECT_THAT(Steps(cursor_.Next(core_->state())), IsEmpty());
}

TEST_F(WatchCursorTest, EventsAreToldOnce) {
  const v1::JobSnapshot first = cursor_.Next(core_->state());
  ASSERT_GT(first.events_size(), 1);
  EXPECT_EQ(first.events(0).type(), "JobSubmitted");
  EXPECT_THAT(cursor_.Next(core_->state()).events(), IsEmpty());
  FailAndRestart();
  const v1::JobSnapshot later = cursor_.Next(core_->state());
  ASSERT_GT(later.events_size(), 0);
  EXPECT_EQ(later.events(0).seq(), first.events(first.events_size() - 1).seq() + 1);
}

TEST_F(WatchCursorTest, NodesOfTheJobsDeviceAreShown) {
  const v1::JobSnapshot snapshot = cursor_.Next(core_->state());
  ASSERT_THAT(snapshot.nodes(), SizeIs(1));
  EXPECT_EQ(snapshot.nodes(0).node_id(), "n1");
  EXPECT_EQ(snapshot.ranks_size(), 1);
}

}  // namespace
}  // namespace muster::coordinator
