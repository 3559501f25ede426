#include "worker/train/trainer.h"

#include <cmath>
#include <limits>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/train/testing.h"

namespace muster::worker {
namespace {

using ::testing::HasSubstr;
using State = Gang::State;

constexpr int kSteps = 20;

const FakeDataset& Data() {
  static const FakeDataset* const kData = new FakeDataset(SomeTokens(3000, 23, 1), 12);
  return *kData;
}

void ExpectNear(const State& actual, const State& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (const auto& [name, values] : expected) {
    const std::vector<float>& others = actual.at(name);
    ASSERT_EQ(others.size(), values.size()) << name;
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_TRUE(std::abs(others[i] - values[i]) <= tolerance) << name << "[" << i << "]";
    }
  }
}

struct Outcome {
  std::vector<double> losses;
  std::vector<double> norms;
  State state;
};

Outcome Train(const v1::TrainSpec& spec, int world, int steps = kSteps, int threads = 1) {
  Gang gang(spec, world, Data(), threads);
  Outcome run;
  for (int step = 0; step < steps; ++step) {
    const StepResult result = gang.Step();
    run.losses.push_back(result.loss);
    run.norms.push_back(result.grad_norm);
  }
  run.state = gang.Export();
  return run;
}

v1::TrainSpec Unsharded() {
  v1::TrainSpec spec = SmallSpec();
  spec.set_sharding(v1::NONE);
  return spec;
}

// Five micro-batches a step: uneven at 2, 3 and 4 ranks; at 6 one rank has none.
class TrainerWorldTest : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Worlds, TrainerWorldTest, ::testing::Values(1, 2, 3, 4, 6));

TEST_P(TrainerWorldTest, ShardedRunEqualsTheUnshardedRunOfOneProcess) {
  const Outcome alone = Train(Unsharded(), 1);
  const Outcome sharded = Train(SmallSpec(), GetParam());
  for (int step = 0; step < kSteps; ++step) {
    EXPECT_NEAR(sharded.losses[step], alone.losses[step], 1e-5) << "step " << step + 1;
    EXPECT_NEAR(sharded.norms[step], alone.norms[step], 1e-4) << "step " << step + 1;
  }
  ExpectNear(sharded.state, alone.state, 2e-4);
}

TEST_P(TrainerWorldTest, PlainDataParallelRunEqualsTheRunOfOneProcess) {
  const Outcome alone = Train(Unsharded(), 1);
  const Outcome replicated = Train(Unsharded(), GetParam());
  for (int step = 0; step < kSteps; ++step) EXPECT_NEAR(replicated.losses[step], alone.losses[step], 1e-5);
  ExpectNear(replicated.state, alone.state, 2e-4);
}

TEST_P(TrainerWorldTest, SameSeedAndWorldGiveTheSameBitsWithAnyThreads) {
  const Outcome first = Train(SmallSpec(), GetParam(), 5);
  const Outcome again = Train(SmallSpec(), GetParam(), 5);
  EXPECT_EQ(first.losses, again.losses);
  EXPECT_EQ(first.norms, again.norms);
  EXPECT_EQ(first.state, again.state);
  ExpectNear(Train(SmallSpec(), GetParam(), 5, /*threads=*/3).state, first.state, 1e-4);
}

TEST_P(TrainerWorldTest, StateLoadedAtThisWorldSizeIsBitForBitWhatWasSaved) {
  Gang saved(SmallSpec(), 3, Data());
  for (int step = 0; step < 4; ++step) saved.Step();
  const State state = saved.Export();
  for (const v1::TrainSpec& spec : {SmallSpec(), Unsharded()}) {
    Gang gang(spec, GetParam(), Data());
    gang.Load(state, 4);
    EXPECT_EQ(gang.Export(), state);
    EXPECT_EQ(gang.rank(0).step(), 4);
    EXPECT_EQ(gang.Step().step, 5);
  }
}

TEST_P(TrainerWorldTest, ResumedRunRepeatsTheUninterruptedOneBitForBit) {
  const Outcome whole = Train(SmallSpec(), GetParam(), 8);
  Gang before(SmallSpec(), GetParam(), Data());
  for (int step = 0; step < 5; ++step) before.Step();
  Gang after(SmallSpec(), GetParam(), Data());
  after.Load(before.Export(), 5);
  for (int step = 5; step < 8; ++step) EXPECT_EQ(after.Step().loss, whole.losses[step]);
  EXPECT_EQ(after.Export(), whole.state);
}

TEST_P(TrainerWorldTest, RanksUseEachSampleOfTheGlobalBatchOnceAndEachEpochAllSamples) {
  // 20 samples, two steps an epoch.
  const FakeDataset data(SomeTokens(20 * 12 + 1, 23, 4), 12);
  Gang gang(SmallSpec(), GetParam(), data);
  std::set<uint64_t> ids;
  for (int step = 0; step < 4; ++step) {
    gang.Step();
    std::vector<uint64_t> positions;
    for (int rank = 0; rank < gang.world(); ++rank) {
      for (const Trainer::UsedSample& sample : gang.rank(rank).last_samples()) {
        positions.push_back(sample.position);
        EXPECT_TRUE(ids.insert(sample.id).second) << sample.id << " again in step " << step + 1;
      }
    }
    ASSERT_EQ(positions.size(), 10);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(positions[i], step * 10 + i);
    if (step % 2 == 1) {
      EXPECT_EQ(ids.size(), 20);
      ids.clear();
    }
  }
}

TEST_P(TrainerWorldTest, EvaluateIsTheSameOnEveryRankAndAtEveryWorldSize) {
  // Seven samples: fewer than were asked for, and the last micro-batch is half full.
  const FakeDataset val(SomeTokens(7 * 12 + 1, 23, 9), 12);
  const auto evaluate = [&](int world) {
    Gang gang(SmallSpec(), world, Data());
    std::vector<double> losses(world);
    gang.ForAll([&](int rank, Trainer& trainer) { losses[rank] = *trainer.Evaluate(val, 50); });
    for (const double loss : losses) EXPECT_EQ(loss, losses[0]);
    return losses[0];
  };
  EXPECT_NEAR(evaluate(GetParam()), evaluate(1), 1e-6);
  EXPECT_NEAR(evaluate(1), std::log(23), 0.1);
}

TEST_P(TrainerWorldTest, FlagOfOneRankReachesAll) {
  Gang gang(SmallSpec(), GetParam(), Data());
  EXPECT_FALSE(gang.Step().flag);
  std::vector<int> flags(gang.world());
  gang.ForAll([&](int rank, Trainer& trainer) { flags[rank] = trainer.Step(rank == gang.world() - 1)->flag ? 1 : 0; });
  EXPECT_EQ(flags, std::vector<int>(gang.world(), 1));
  EXPECT_FALSE(gang.Step().flag);
}

TEST_P(TrainerWorldTest, WeightsThatAreNotFiniteStopTheStepOnAllRanksAndChangeNothing) {
  Gang gang(SmallSpec(), GetParam(), Data());
  for (int step = 0; step < 2; ++step) gang.Step();
  State state = gang.Export();
  state["param/h.1.mlp.c_fc.bias"][3] = std::numeric_limits<float>::infinity();
  gang.Load(state, 2);
  std::vector<absl::Status> statuses(gang.world());
  gang.ForAll([&](int rank, Trainer& trainer) { statuses[rank] = trainer.Step(false).status(); });
  for (const absl::Status& status : statuses) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(status.message()), HasSubstr("step 3: the loss of rank 0 is not finite"));
  }
  EXPECT_EQ(gang.Export(), state);
  EXPECT_EQ(gang.rank(0).step(), 2);
}

TEST(TrainerTest, ClippingBoundsTheUpdateAndCanBeOff) {
  v1::TrainSpec spec = SmallSpec();
  spec.mutable_optimizer()->set_clip(1e-3);
  Gang clipped(spec, 2, Data());
  const StepResult result = clipped.Step();
  EXPECT_GT(result.grad_norm, 1e-2);
  // The first exp_avg is 0.1 of the gradient that was used, whose norm is the bound.
  double squares = 0;
  for (const auto& [name, values] : clipped.Export()) {
    if (name.rfind("exp_avg/", 0) != 0) continue;
    for (const float value : values) squares += std::pow(value / 0.1, 2);
  }
  EXPECT_NEAR(std::sqrt(squares), 1e-3, 1e-6);

  spec.mutable_optimizer()->set_clip(0);
  Gang free(spec, 2, Data());
  free.Step();
  squares = 0;
  for (const auto& [name, values] : free.Export()) {
    if (name.rfind("exp_avg/", 0) != 0) continue;
    for (const float value : values) squares += std::pow(value / 0.1, 2);
  }
  EXPECT_NEAR(std::sqrt(squares), result.grad_norm, 1e-5 * result.grad_norm);
}

TEST(TrainerTest, WeightDecayReachesMatricesOnly) {
  v1::TrainSpec with = SmallSpec();
  with.mutable_optimizer()->set_weight_decay(0.5);
  v1::TrainSpec without = SmallSpec();
  without.mutable_optimizer()->set_weight_decay(0);
  const State decayed = Train(with, 3, 1).state;
  const State kept = Train(without, 3, 1).state;
  for (const auto& [name, values] : kept) {
    if (name.rfind("param/", 0) != 0) continue;
    const bool matrix = name.find("bias") == std::string::npos && name.find("ln_") == std::string::npos;
    EXPECT_EQ(decayed.at(name) != values, matrix) << name;
  }
}

TEST(TrainerTest, SampleIsDeterministicAndMovesWithSeedAndStep) {
  v1::TrainSpec spec = SmallSpec();
  spec.mutable_model()->set_vocab(300);
  v1::SampleSpec sample;
  sample.set_prompt("ab");
  // Beyond the context, too.
  sample.set_tokens(40);
  sample.set_temperature(1.0);
  Gang gang(spec, 2, Data());
  const std::string text = *gang.rank(0).Sample(sample);
  EXPECT_EQ(text.rfind("ab", 0), 0);
  EXPECT_EQ(*gang.rank(0).Sample(sample), text);
  EXPECT_EQ(*gang.rank(1).Sample(sample), text);
  EXPECT_EQ(*Gang(spec, 3, Data()).rank(2).Sample(sample), text);
  gang.Step();
  EXPECT_NE(*gang.rank(0).Sample(sample), text);
  spec.set_seed(12);
  EXPECT_NE(*Gang(spec, 1, Data()).rank(0).Sample(sample), text);
}

TEST(TrainerTest, PromptBeyondTheVocabularyIsRefused) {
  v1::SampleSpec sample;
  sample.set_prompt("a");
  sample.set_tokens(1);
  const absl::Status status = Gang(SmallSpec(), 1, Data()).rank(0).Sample(sample).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("sample.prompt: byte 97"));
  sample.set_prompt("");
  EXPECT_EQ(Gang(SmallSpec(), 1, Data()).rank(0).Sample(sample).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace muster::worker
