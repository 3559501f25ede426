// The coordinator killed with SIGKILL in the middle of what it does. Nothing that was acknowledged is lost, nothing is
// done twice.
#include <set>

#include "absl/strings/str_cat.h"
#include "common/random_id.h"
#include "common/version.h"
#include "gtest/gtest.h"
#include "tests/e2e/cluster.h"

namespace muster::e2e {
namespace {

TrainJob Endless(Cluster& cluster, int min, int max) {
  TrainJob job;
  job.min = min;
  job.max = max;
  job.data = cluster.PackData();
  job.checkpoints = cluster.dir() + "/ckpt";
  job.steps = 1000000;
  job.every = 20;
  return job;
}

// musterctl repeats a submission that a dying coordinator did not answer. Whenever that happens, there is exactly one
// job of it, and one for each that was told of.
TEST(CoordinatorKill, DuringSubmitGivesExactlyOneJob) {
  Cluster cluster;
  const int kRounds = 12;
  for (int round = 0; round < kRounds; ++round) {
    const std::string name = absl::StrCat("job-", round);
    Process submit = cluster.StartCtl(name, {"submit", "--name", name, "--", "true"});
    // From before the connection to after the reply.
    const absl::Time until = Now() + round * absl::Milliseconds(8);
    WaitUntil(absl::Seconds(1), [&] { return Now() >= until; });
    cluster.KillCoordinator();
    cluster.StartCoordinator();
    const std::optional<Ended> ended = submit.Wait(absl::Seconds(30));
    ASSERT_TRUE(ended.has_value()) << "submit hangs in round " << round;
    EXPECT_EQ(ended->code, 0) << cluster.Read(name + ".err");
  }
  std::set<std::string> names;
  for (const v1::JobView& job : cluster.Jobs()) EXPECT_TRUE(names.insert(job.name()).second) << job.name() << " twice";
  EXPECT_EQ(names.size(), static_cast<size_t>(kRounds));
}

// A token that was used before gives the job it gave.
TEST(CoordinatorKill, SameTokenAfterwardsGivesTheSameJob) {
  Cluster cluster;
  std::set<std::string> ids;
  for (int round = 0; round < 10; ++round) {
    v1::SubmitJobRequest request;
    request.set_protocol(kProtocolVersion);
    request.set_version(kVersion);
    request.set_token(RandomId());
    request.mutable_spec()->set_name(absl::StrCat("job-", round));
    request.mutable_spec()->add_command("true");
    v1::JobView first, second;
    grpc::ClientContext one;
    one.set_wait_for_ready(true);
    const grpc::Status told = cluster.stub().SubmitJob(&one, request, &first);
    ASSERT_TRUE(told.ok()) << told.error_message();
    cluster.KillCoordinator();
    cluster.StartCoordinator();
    // A connection to the one before may yet have to be found dead.
    grpc::Status again;
    WaitUntil(absl::Seconds(30), [&] {
      grpc::ClientContext two;
      again = cluster.stub().SubmitJob(&two, request, &second);
      return again.error_code() != grpc::StatusCode::UNAVAILABLE;
    });
    ASSERT_TRUE(again.ok()) << again.error_message();
    EXPECT_EQ(first.job_id(), second.job_id());
    EXPECT_TRUE(ids.insert(second.job_id()).second);
  }
  EXPECT_EQ(cluster.Jobs().size(), 10u);
}

// At many moments between a node's death and the first step afterwards.
TEST(CoordinatorKill, DuringRecoveryTheJobRecovers) {
  Cluster cluster;
  cluster.StartAgents({"n1", "n2", "n3"});
  const std::string id = cluster.Submit(Endless(cluster, 1, 3).Yaml());
  cluster.WaitForStep(id, 25);
  uint64_t last = 1;
  for (int round = 0; round < 5; ++round) {
    const int64_t committed = cluster.Get(id).job().committed_step();
    cluster.KillNode("n3");
    const absl::Time until = Now() + round * absl::Milliseconds(120);
    WaitUntil(absl::Seconds(2), [&] { return Now() >= until; });
    cluster.KillCoordinator();
    cluster.StartCoordinator();
    const v1::JobDetail after = cluster.WaitFor(id, "steps without n3", [&](const v1::JobDetail& d) {
      return d.job().generation() > last && d.job().world_size() == 2 && d.job().state() == v1::JOB_RUNNING;
    });
    EXPECT_GE(after.generations(after.generations_size() - 1).restore_step(), committed);
    // Whole again before the next round.
    cluster.StartAgents({"n3"});
    last = cluster
               .WaitFor(id, "three nodes again",
                        [](const v1::JobDetail& d) {
                          return d.job().world_size() == 3 && d.job().state() == v1::JOB_RUNNING;
                        })
               .job()
               .generation();
    if (::testing::Test::HasFailure()) return;
  }
}

// Checkpoints every few steps, so that a kill at any moment is near a commit.
TEST(CoordinatorKill, DuringCheckpointCommitsNoneIsLostOrHalf) {
  Cluster cluster;
  cluster.StartAgents({"n1", "n2"});
  TrainJob job = Endless(cluster, 2, 2);
  job.every = 3;
  const std::string id = cluster.Submit(job.Yaml());
  cluster.WaitForStep(id, 10);
  for (int round = 0; round < 8; ++round) {
    const int64_t committed = cluster.Get(id).job().committed_step();
    const absl::Time until = Now() + round * absl::Milliseconds(17);
    WaitUntil(absl::Seconds(1), [&] { return Now() >= until; });
    cluster.KillCoordinator();
    cluster.StartCoordinator();
    EXPECT_GE(cluster.Get(id).job().committed_step(), committed);
    cluster.WaitFor(id, "a later checkpoint", [&](const auto& d) { return d.job().committed_step() > committed + 6; });
    if (::testing::Test::HasFailure()) return;
  }
  const v1::JobDetail after = cluster.Get(id);
  EXPECT_EQ(after.job().generation(), 1) << "no worker was restarted";
  EXPECT_EQ(cluster.Ctl({"cancel", id}).code, 0);
  cluster.WaitForState(id, v1::CANCELLED);
  const CtlResult verified = cluster.Ctl({"checkpoint", "verify", job.checkpoints + "/" + id});
  EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
}

}  // namespace
}  // namespace muster::e2e
