// Agents and the coordinator come and go; workers train on.
#include "gtest/gtest.h"
#include "tests/e2e/cluster.h"

namespace muster::e2e {
namespace {

std::string SubmitEndless(Cluster& cluster, int nodes) {
  TrainJob job;
  job.min = job.max = nodes;
  job.data = cluster.PackData();
  job.checkpoints = cluster.dir() + "/ckpt";
  job.steps = 1000000;
  job.every = 20;
  return cluster.Submit(job.Yaml());
}

void ExpectUntouched(Cluster& cluster, const std::string& id, const v1::JobDetail& before) {
  const v1::JobDetail after = cluster.WaitForStep(id, before.job().step() + 30);
  EXPECT_EQ(Pids(after), Pids(before));
  EXPECT_EQ(after.job().generation(), before.job().generation());
  EXPECT_EQ(after.job().restarts().total(), 0);
  // And what they do still counts.
  cluster.WaitFor(id, "a later checkpoint",
                  [&](const auto& d) { return d.job().committed_step() > before.job().committed_step() + 20; });
}

TEST(Adoption, RestartedAgentAdoptsItsWorkers) {
  Cluster cluster;
  cluster.StartAgents({"n1", "n2"});
  const std::string id = SubmitEndless(cluster, 2);
  const v1::JobDetail before = cluster.WaitForStep(id, 25);
  cluster.KillAgentOnly("n2");
  for (const auto& [rank, pid] : Pids(before)) EXPECT_TRUE(IsAlive(pid)) << "rank " << rank;
  cluster.StartAgents({"n2"});
  ExpectUntouched(cluster, id, before);
}

TEST(Adoption, AllAgentsRestartedAtOnceAdoptTheirWorkers) {
  Cluster cluster;
  cluster.StartAgents({"n1", "n2"});
  const std::string id = SubmitEndless(cluster, 2);
  const v1::JobDetail before = cluster.WaitForStep(id, 25);
  cluster.KillAgentOnly("n1");
  cluster.KillAgentOnly("n2");
  cluster.StartAgents({"n1", "n2"});
  ExpectUntouched(cluster, id, before);
}

TEST(Adoption, KilledCoordinatorLeavesWorkersRunning) {
  Cluster cluster;
  cluster.StartAgents({"n1", "n2"});
  const std::string id = SubmitEndless(cluster, 2);
  const v1::JobDetail before = cluster.WaitForStep(id, 25);
  cluster.KillCoordinator();
  cluster.StartCoordinator();
  for (const std::string node : {"n1", "n2"}) cluster.WaitForNode(node, v1::NODE_READY);
  ExpectUntouched(cluster, id, before);
}

TEST(Adoption, CoordinatorAndAgentKilledTogetherLeaveWorkersRunning) {
  Cluster cluster;
  cluster.StartAgents({"n1", "n2"});
  const std::string id = SubmitEndless(cluster, 2);
  const v1::JobDetail before = cluster.WaitForStep(id, 25);
  cluster.KillCoordinator();
  cluster.KillAgentOnly("n1");
  cluster.StartCoordinator();
  cluster.StartAgents({"n1"});
  ExpectUntouched(cluster, id, before);
}

}  // namespace
}  // namespace muster::e2e
