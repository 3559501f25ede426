// Hosts that are cut off the network, and a disk that is full: what takes namespaces to bring about.
#include <sched.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/cluster.h"

namespace muster::e2e {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

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

class Partition : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = Network::WhyNot(); !why.empty()) GTEST_SKIP() << why;
    Cluster::Options options;
    options.lease = absl::Seconds(2);
    options.network = &network_;
    cluster_.emplace(options);
  }

  Network network_;
  std::optional<Cluster> cluster_;
};

TEST_F(Partition, CutOffNodeIsLostByItsLeaseAndTheRestGoesOn) {
  cluster_->StartAgents({"n1", "n2", "n3"});
  const std::string id = cluster_->Submit(Endless(*cluster_, 1, 3).Yaml());
  const v1::JobDetail before = cluster_->WaitForStep(id, 25);
  ASSERT_EQ(before.job().world_size(), 3);
  const std::map<int, int> pids = Pids(before);
  std::string victim;
  for (const v1::RankView& rank : before.ranks()) victim = rank.rank() == 1 ? rank.node_id() : victim;
  const absl::Time cut = Now();
  network_.Cut(victim);
  const v1::JobDetail after = cluster_->WaitFor(id, "going on with two nodes", [](const v1::JobDetail& d) {
    return d.job().world_size() == 2 && d.job().state() == v1::JOB_RUNNING;
  });
  EXPECT_LT(Now() - cut, absl::Seconds(20));
  EXPECT_EQ(after.generations(after.generations_size() - 1).cause(), v1::CAUSE_NODE_LOST);
  EXPECT_EQ(cluster_->Nodes()[victim].state(), v1::NODE_LOST);
  // Nobody could tell it, and it knows: its lease has run out as well.
  EXPECT_TRUE(WaitUntil(absl::Seconds(20), [&] { return !IsAlive(pids.at(1)); })) << "a fenced worker lives on";

  // Back, it is a free node, and the job grows.
  network_.Mend(victim);
  cluster_->WaitForNode(victim, v1::NODE_READY);
  cluster_->WaitFor(id, "growing to three nodes again", [](const v1::JobDetail& d) {
    return d.job().world_size() == 3 && d.job().state() == v1::JOB_RUNNING;
  });
}

TEST_F(Partition, ShorterThanTheLeaseTouchesNoWorker) {
  cluster_.reset();
  Cluster::Options options;
  options.lease = absl::Seconds(10);
  options.network = &network_;
  cluster_.emplace(options);
  cluster_->StartAgents({"n1"});
  const std::string id = cluster_->Submit(Endless(*cluster_, 1, 1).Yaml());
  const v1::JobDetail before = cluster_->WaitForStep(id, 25);
  network_.Cut("n1");
  const absl::Time until = Now() + absl::Seconds(2);
  WaitUntil(absl::Seconds(3), [&] { return Now() >= until; });
  network_.Mend("n1");
  const v1::JobDetail after = cluster_->WaitForStep(id, before.job().step() + 50);
  EXPECT_EQ(after.job().generation(), 1);
  EXPECT_EQ(Pids(after), Pids(before));
}

TEST_F(Partition, NodeOfRank0CutOffIsAnOrdinaryFailure) {
  cluster_->StartAgents({"n1", "n2"});
  const std::string id = cluster_->Submit(Endless(*cluster_, 1, 2).Yaml());
  const v1::JobDetail before = cluster_->WaitForStep(id, 25);
  std::string victim;
  for (const v1::RankView& rank : before.ranks()) victim = rank.rank() == 0 ? rank.node_id() : victim;
  network_.Cut(victim);
  const v1::JobDetail after = cluster_->WaitFor(id, "going on alone", [](const v1::JobDetail& d) {
    return d.job().world_size() == 1 && d.job().state() == v1::JOB_RUNNING;
  });
  EXPECT_NE(after.ranks(0).node_id(), victim);
  EXPECT_GE(after.generations(after.generations_size() - 1).restore_step(), 20);
}

TEST(FullDisk, CheckpointThatDoesNotFitFailsTheJobAndLeavesNoHalfOne) {
  if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    GTEST_SKIP() << "mounting a small file system takes root: " << std::strerror(errno);
  }
  Cluster cluster;
  const std::string folder = cluster.dir() + "/ckpt";
  std::filesystem::create_directory(folder);
  // The model and its optimizer state have about 400 kB.
  if (::mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=64k") != 0) {
    GTEST_SKIP() << "no tmpfs here: " << std::strerror(errno);
  }
  cluster.StartAgents({"n1"});
  const v1::JobDetail failed = cluster.WaitForState(cluster.Submit(Endless(cluster, 1, 1).Yaml()), v1::FAILED);
  EXPECT_THAT(failed.failure().message(), HasSubstr(folder));
  EXPECT_THAT(failed.failure().message(), AnyOf(HasSubstr("space"), HasSubstr("full")));
  EXPECT_EQ(failed.job().committed_step(), 0);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    EXPECT_NE(entry.path().filename(), "manifest.json");
  }
  ::umount2(folder.c_str(), MNT_DETACH);
}

}  // namespace
}  // namespace muster::e2e
