// What elasticity promises, over random stops and world sizes: the same loss curve, and every sample exactly once.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "worker/data/sample_order.h"
#include "worker/runtime/gang_harness.h"

namespace muster::worker {
namespace {

using testing::Each;

constexpr int kSamples = 50;
constexpr int64_t kSteps = 30;
constexpr int64_t kBatch = 12;

std::vector<double> Losses(FakeJob* job) {
  std::vector<double> losses;
  for (const auto& [step, m] : job->metrics()) losses.push_back(m.loss());
  return losses;
}

std::vector<double> Uninterrupted(int world) {
  FakeJob job(TinyJob(NewTestFolder(), kSteps, kSamples));
  job.StartGeneration(world);
  EXPECT_THAT(RunGeneration(&job, world), Each(ExitCode::kDone));
  return Losses(&job);
}

void ExpectSameCurve(const std::vector<double>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 2e-4) << "step " << i + 1;
}

// The samples that made the model: of each step, those of the newest generation that did it.
void ExpectEachSampleOnce(const std::string& folder) {
  struct Used {
    uint64_t generation;
    std::map<uint64_t, uint64_t> ids;
  };
  std::map<int64_t, Used> steps;
  FileSystem* const fs = FileSystem::Posix();
  const auto files = fs->List(folder + "/samples");
  ASSERT_TRUE(files.ok());
  for (const std::string& name : *files) {
    const std::string text = *ReadFile(fs, folder + "/samples/" + name);
    for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
      const std::vector<std::string> fields = absl::StrSplit(line, ' ');
      ASSERT_EQ(fields.size(), 4u) << line;
      const uint64_t generation = std::stoull(fields[0]);
      Used& used = steps[std::stoll(fields[1])];
      if (generation < used.generation) continue;
      if (generation > used.generation) used = {generation, {}};
      ASSERT_TRUE(used.ids.emplace(std::stoull(fields[2]), std::stoull(fields[3])).second) << "twice: " << line;
    }
  }
  ASSERT_EQ(steps.size(), static_cast<size_t>(kSteps));
  const SampleOrder order(7, kSamples);
  uint64_t position = 0;
  std::map<uint64_t, std::set<uint64_t>> epochs;
  for (const auto& [step, used] : steps) {
    ASSERT_EQ(used.ids.size(), static_cast<size_t>(kBatch)) << "step " << step;
    for (const auto& [at, id] : used.ids) {
      ASSERT_EQ(at, position) << "step " << step;
      ASSERT_EQ(id, order.IdAt(at));
      EXPECT_TRUE(epochs[at / kSamples].insert(id).second) << "sample " << id << " twice in an epoch";
      ++position;
    }
  }
  for (uint64_t epoch = 0; epoch < position / kSamples; ++epoch) EXPECT_EQ(epochs[epoch].size(), size_t{kSamples});
}

TEST(Elastic, FourRanksStoppedAndThreeGoOnMakeTheSameCurve) {
  const std::string folder = NewTestFolder();
  FakeJob job(TinyJob(folder, kSteps, kSamples));
  job.StartGeneration(4);
  job.FenceAllAtStep(14);
  RunGeneration(&job, 4);
  ASSERT_GE(job.committed_step(), 8);
  job.StartGeneration(3);
  EXPECT_THAT(RunGeneration(&job, 3), Each(ExitCode::kDone));
  ExpectSameCurve(Losses(&job), Uninterrupted(4));
  ExpectEachSampleOnce(folder);
}

class ElasticProperty : public testing::TestWithParam<int> {};

TEST_P(ElasticProperty, EverySampleOnceAndTheSameCurveAcrossRandomResizes) {
  std::mt19937 random(GetParam());
  const std::string folder = NewTestFolder();
  v1::JobSpec spec = TinyJob(folder, kSteps, kSamples);
  spec.mutable_checkpoint()->set_every(1 + static_cast<int>(random() % 6));
  if (random() % 3 == 0) spec.mutable_train()->set_sharding(v1::NONE);
  FakeJob job(spec);
  bool done = false;
  for (int generation = 1; !done; ++generation) {
    const int world = 1 + static_cast<int>(random() % 5);
    job.StartGeneration(world);
    // The last one is left alone.
    switch (generation < 6 ? random() % 3 : 3) {
      case 0:
        job.FenceAllAtStep(job.committed_step() + 1 + static_cast<int>(random() % 9));
        break;
      case 1:
        job.FenceRankAtStep(static_cast<int>(random() % world),
                            job.committed_step() + 1 + static_cast<int>(random() % 9));
        break;
      case 2:
        job.Hold();
        break;
      default:
        break;
    }
    if (random() % 2 == 0 && generation < 6) job.WithholdPublish();
    SCOPED_TRACE("seed " + std::to_string(GetParam()) + ", generation " + std::to_string(generation) + ", world " +
                 std::to_string(world));
    const std::vector<ExitCode> codes = RunGeneration(&job, world);
    done = testing::Value(codes, Each(ExitCode::kDone));
    for (ExitCode code : codes) {
      EXPECT_TRUE(code == ExitCode::kDone || code == ExitCode::kFenced || code == ExitCode::kPeerLost)
          << static_cast<int>(code);
    }
    ASSERT_FALSE(HasFailure());
  }
  static const std::vector<double> want = Uninterrupted(1);
  ExpectSameCurve(Losses(&job), want);
  ExpectEachSampleOnce(folder);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ElasticProperty, testing::Range(1, 21));

}  // namespace
}  // namespace muster::worker
