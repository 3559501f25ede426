// A job that could use more nodes takes them in at a checkpoint.
#include "gtest/gtest.h"
#include "tests/e2e/cluster.h"

namespace muster::e2e {
namespace {

TEST(Growth, NewNodeIsTakenInAtACheckpointWithNothingRedone) {
  Cluster cluster;
  cluster.StartAgents({"n1", "n2"});
  TrainJob job;
  job.min = 1;
  job.max = 3;
  job.data = cluster.PackData();
  job.checkpoints = cluster.dir() + "/ckpt";
  job.steps = 1000000;
  job.every = 20;
  const std::string id = cluster.Submit(job.Yaml());
  EXPECT_EQ(cluster.WaitForStep(id, 10).job().world_size(), 2);
  cluster.StartAgents({"n3"});
  const v1::JobDetail grown = cluster.WaitFor(id, "three nodes that train", [](const v1::JobDetail& d) {
    return d.job().world_size() == 3 && d.job().state() == v1::JOB_RUNNING;
  });
  ASSERT_EQ(grown.generations_size(), 2);
  const v1::StoredGeneration& second = grown.generations(1);
  EXPECT_EQ(second.cause(), v1::CAUSE_GROWTH) << second.reason();
  EXPECT_EQ(second.steps_redone(), 0);
  EXPECT_GT(second.restore_step(), 0);
  EXPECT_EQ(second.restore_step() % 20, 0);
  EXPECT_EQ(grown.job().restarts().total(), 0) << "a growth is no failure";
}

TEST(Growth, NodesThatComeTogetherAreTakenInTogether) {
  Cluster cluster;
  cluster.StartAgents({"n1"});
  TrainJob job;
  job.min = 1;
  job.max = 3;
  job.data = cluster.PackData();
  job.checkpoints = cluster.dir() + "/ckpt";
  job.steps = 1000000;
  // Both are there long before the next checkpoint.
  job.every = 400;
  const std::string id = cluster.Submit(job.Yaml());
  cluster.WaitForStep(id, 5);
  cluster.StartAgents({"n2", "n3"});
  const v1::JobDetail grown =
      cluster.WaitFor(id, "a second generation", [](const v1::JobDetail& d) { return d.job().generation() >= 2; });
  EXPECT_EQ(grown.generations(1).world_size(), 3);
  EXPECT_EQ(grown.generations(1).cause(), v1::CAUSE_GROWTH);
}

}  // namespace
}  // namespace muster::e2e
