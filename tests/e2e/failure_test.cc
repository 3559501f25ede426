// A worker, a node, the node of rank 0 killed while a job trains; and too few nodes left.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/cluster.h"

namespace muster::e2e {
namespace {

using ::testing::HasSubstr;

// Long enough never to end by itself; a test cancels it, or its cluster goes.
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

std::string NodeOfRank(const v1::JobDetail& job, int rank) {
  for (const v1::RankView& view : job.ranks()) {
    if (view.rank() == rank) return view.node_id();
  }
  ADD_FAILURE() << "nothing is known of rank " << rank;
  return "";
}

// Runs in `generation` and has done steps in it.
bool TrainsIn(const v1::JobDetail& job, uint64_t generation) {
  return job.job().state() == v1::JOB_RUNNING && job.job().generation() == generation &&
         job.generations_size() == static_cast<int>(generation) &&
         job.generations(generation - 1).timeline().has_first_step();
}

v1::JobDetail WaitUntilTrainsIn(Cluster& cluster, const std::string& id, uint64_t generation) {
  return cluster.WaitFor(id, "training in generation " + std::to_string(generation),
                         [&](const v1::JobDetail& d) { return TrainsIn(d, generation); });
}

TEST(Failure, KilledWorkerRestartsOnTheSameNodesFromTheCheckpoint) {
  Cluster cluster;
  cluster.StartAgents({"n1", "n2"});
  const std::string id = cluster.Submit(Endless(cluster, 2, 2).Yaml());
  const v1::JobDetail before = cluster.WaitForStep(id, 25);
  cluster.KillWorker(id, 1);
  const v1::JobDetail after = WaitUntilTrainsIn(cluster, id, 2);

  const v1::StoredGeneration& second = after.generations(1);
  EXPECT_EQ(second.cause(), v1::CAUSE_WORKER_FAILED) << second.reason();
  EXPECT_EQ(second.world_size(), 2);
  EXPECT_GE(second.restore_step(), 20);
  EXPECT_EQ(second.restore_step() % 20, 0);
  EXPECT_EQ(after.generations(0).failure().rank(), 1) << "the one that was killed, and not its peer";
  EXPECT_EQ(after.generations(0).failure().exit().signal(), 9);
  for (const int rank : {0, 1}) EXPECT_EQ(NodeOfRank(after, rank), NodeOfRank(before, rank));
  EXPECT_EQ(after.job().restarts().total(), 1);
}

TEST(Failure, KilledNodeShrinksTheGangToWhatIsLeft) {
  Cluster cluster;
  cluster.StartAgents({"n1", "n2", "n3"});
  const std::string id = cluster.Submit(Endless(cluster, 1, 3).Yaml());
  const v1::JobDetail before = cluster.WaitForStep(id, 25);
  ASSERT_EQ(before.job().world_size(), 3);
  const std::string victim = NodeOfRank(before, 2);
  cluster.KillNode(victim);
  const v1::JobDetail after = WaitUntilTrainsIn(cluster, id, 2);

  const v1::StoredGeneration& second = after.generations(1);
  EXPECT_EQ(second.cause(), v1::CAUSE_NODE_LOST) << second.reason();
  EXPECT_THAT(second.reason(), HasSubstr(victim));
  EXPECT_EQ(second.world_size(), 2);
  EXPECT_GE(second.restore_step(), 20);
  for (const int rank : {0, 1}) EXPECT_EQ(NodeOfRank(after, rank), NodeOfRank(before, rank)) << "ranks are sticky";
  EXPECT_EQ(cluster.Nodes()[victim].state(), v1::NODE_LOST);
}

TEST(Failure, KilledNodeOfRank0IsAnOrdinaryFailure) {
  Cluster cluster;
  cluster.StartAgents({"n1", "n2"});
  const std::string id = cluster.Submit(Endless(cluster, 1, 2).Yaml());
  const v1::JobDetail before = cluster.WaitForStep(id, 25);
  cluster.KillNode(NodeOfRank(before, 0));
  const v1::JobDetail after = WaitUntilTrainsIn(cluster, id, 2);
  EXPECT_EQ(after.generations(1).world_size(), 1);
  EXPECT_EQ(NodeOfRank(after, 0), NodeOfRank(before, 1));
  EXPECT_GE(after.generations(1).restore_step(), 20);
  // And it goes on being saved.
  const int64_t committed = after.job().committed_step();
  cluster.WaitFor(id, "a later checkpoint", [&](const auto& d) { return d.job().committed_step() > committed; });
}

TEST(Failure, FreeNodeTakesALostNodesPlaceAndRank) {
  Cluster cluster;
  cluster.StartAgents({"n1", "n2", "n3"});
  const std::string id = cluster.Submit(Endless(cluster, 2, 2).Yaml());
  const v1::JobDetail before = cluster.WaitForStep(id, 25);
  const std::string victim = NodeOfRank(before, 0);
  cluster.KillNode(victim);
  const v1::JobDetail after = WaitUntilTrainsIn(cluster, id, 2);
  EXPECT_EQ(after.generations(1).world_size(), 2);
  EXPECT_EQ(NodeOfRank(after, 1), NodeOfRank(before, 1));
  EXPECT_NE(NodeOfRank(after, 0), victim);
  EXPECT_NE(NodeOfRank(after, 0), NodeOfRank(before, 1));
}

TEST(Failure, BelowMinWaitsSaysWhyAndGoesOnWhenANodeComes) {
  Cluster cluster;
  cluster.StartAgents({"n1", "n2"});
  const std::string id = cluster.Submit(Endless(cluster, 2, 2).Yaml());
  const v1::JobDetail before = cluster.WaitForStep(id, 25);
  cluster.KillNode(NodeOfRank(before, 1));
  const v1::JobDetail waiting = cluster.WaitForState(id, v1::PENDING);
  EXPECT_THAT(waiting.job().reason(), HasSubstr("node")) << "the shortage, in words";
  EXPECT_THAT(waiting.job().reason(), HasSubstr("2"));

  cluster.StartAgents({"n3"});
  const v1::JobDetail after = WaitUntilTrainsIn(cluster, id, 2);
  EXPECT_EQ(after.job().world_size(), 2);
  EXPECT_EQ(NodeOfRank(after, 0), NodeOfRank(before, 0));
  EXPECT_EQ(NodeOfRank(after, 1), "n3");
  EXPECT_GE(after.generations(1).restore_step(), 20);
}

TEST(Failure, MoreThanTheClusterHasIsPendingWithTheShortage) {
  Cluster cluster;
  cluster.StartAgents({"n1"});
  const std::string id = cluster.Submit(Endless(cluster, 5, 6).Yaml());
  const v1::JobDetail waiting =
      cluster.WaitFor(id, "a reason", [](const auto& d) { return !d.job().reason().empty(); });
  EXPECT_EQ(waiting.job().state(), v1::PENDING);
  EXPECT_THAT(waiting.job().reason(), HasSubstr("5"));
  EXPECT_THAT(waiting.job().reason(), HasSubstr("1"));
  EXPECT_EQ(cluster.Ctl({"cancel", id}).code, 0);
  cluster.WaitForState(id, v1::CANCELLED);
}

TEST(Failure, KilledNodeThatComesBackIsUsedAgain) {
  Cluster cluster;
  cluster.StartAgents({"n1"});
  const std::string id = cluster.Submit(Endless(cluster, 1, 1).Yaml());
  cluster.WaitForStep(id, 25);
  cluster.KillNode("n1");
  cluster.WaitForState(id, v1::PENDING);
  cluster.StartAgents({"n1"});
  const v1::JobDetail after = WaitUntilTrainsIn(cluster, id, 2);
  EXPECT_EQ(NodeOfRank(after, 0), "n1");
}

}  // namespace
}  // namespace muster::e2e
