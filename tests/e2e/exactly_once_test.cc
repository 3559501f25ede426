// What was trained on, across kills and growth: each sample of an epoch once, and the same model in the end.
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/e2e/cluster.h"

namespace muster::e2e {
namespace {

struct Used {
  uint64_t generation = 0;
  std::map<uint64_t, uint64_t> id_by_position;
};

// By step: what the newest generation that did the step used. Lines are "generation step position id".
std::map<int64_t, Used> ReadSampleLogs(const std::string& dir) {
  std::map<int64_t, Used> steps;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path());
    uint64_t generation, position, id;
    int64_t step;
    while (in >> generation >> step >> position >> id) {
      Used& used = steps[step];
      if (generation < used.generation) continue;
      if (generation > used.generation) used = Used{generation, {}};
      EXPECT_TRUE(used.id_by_position.emplace(position, id).second)
          << "position " << position << " twice in step " << step << " of generation " << generation;
    }
  }
  return steps;
}

TrainJob Audited(Cluster& cluster, const std::string& name, const std::string& data) {
  TrainJob job;
  job.name = name;
  job.data = data;
  job.checkpoints = cluster.dir() + "/ckpt";
  job.sample_log_dir = cluster.dir() + "/samples-" + name;
  job.steps = 300;
  job.every = 20;
  // 54,000 tokens of training data make 843 samples: 300 steps of 16 go over them more than five times.
  job.context = 64;
  return job;
}

TEST(ExactlyOnce, KillsAndGrowthChangeNeitherTheSamplesNorTheLoss) {
  Cluster cluster;
  const std::string data = cluster.PackData();
  cluster.StartAgents({"n1", "n2", "n3"});

  TrainJob shaken = Audited(cluster, "shaken", data);
  shaken.min = 1;
  shaken.max = 3;
  const std::string id = cluster.Submit(shaken.Yaml());
  cluster.WaitForStep(id, 50);
  cluster.KillNode("n3");
  const auto trains_on = [&](int world) {
    return
        [world](const v1::JobDetail& d) { return d.job().world_size() == world && d.job().state() == v1::JOB_RUNNING; };
  };
  cluster.WaitFor(id, "going on with two nodes", trains_on(2));
  cluster.StartAgents({"n3"});
  const v1::JobDetail grown = cluster.WaitFor(id, "grown to three nodes again", trains_on(3));
  cluster.WaitForStep(id, grown.job().committed_step() + 5);
  cluster.KillWorker(id, 0);
  const v1::JobDetail done = cluster.WaitForState(id, v1::SUCCEEDED);
  EXPECT_GE(done.job().generation(), 4);

  TrainJob calm = Audited(cluster, "calm", data);
  const std::string calm_id = cluster.Submit(calm.Yaml());
  const v1::JobDetail calm_done = cluster.WaitForState(calm_id, v1::SUCCEEDED);
  EXPECT_EQ(calm_done.job().generation(), 1);
  EXPECT_NEAR(done.job().loss(), calm_done.job().loss(), 0.02);

  const std::map<int64_t, Used> steps = ReadSampleLogs(shaken.sample_log_dir);
  const std::map<int64_t, Used> calm_steps = ReadSampleLogs(calm.sample_log_dir);
  ASSERT_EQ(steps.size(), 300u);
  ASSERT_EQ(calm_steps.size(), 300u);
  std::vector<uint64_t> order;
  for (const auto& [step, used] : steps) {
    EXPECT_EQ(used.id_by_position.size(), 16u) << "the global batch of step " << step;
    EXPECT_EQ(used.id_by_position, calm_steps.at(step).id_by_position) << "step " << step;
    for (const auto& [position, id_used] : used.id_by_position) order.push_back(id_used);
  }
  // An epoch's length: until the first sample comes again.
  std::set<uint64_t> epoch;
  size_t length = 0;
  while (length < order.size() && epoch.insert(order[length]).second) ++length;
  ASSERT_GT(length, 500u);
  EXPECT_EQ(*epoch.rbegin(), length - 1) << "ids of an epoch are 0 to n - 1";
  for (size_t start = length; start + length <= order.size(); start += length) {
    const std::set<uint64_t> again(order.begin() + start, order.begin() + start + length);
    EXPECT_EQ(again, epoch) << "the epoch that starts at sample " << start;
  }
}

}  // namespace
}  // namespace muster::e2e
