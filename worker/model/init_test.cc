#include "worker/model/init.h"

#include <cmath>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "worker/model/gpt_config.h"

namespace muster::worker {
namespace {

constexpr GptConfig kConfig = {.layers = 8, .heads = 2, .channels = 64, .vocab = 256, .context = 32};

std::vector<std::vector<float>> TensorsAt(int world, uint64_t seed) {
  const ShardPlan plan(world, GptUnits(kConfig));
  std::vector<float> flat(plan.size());
  InitializeWeights(seed, plan, flat.data());
  std::vector<std::vector<float>> tensors;
  for (const ShardPlan::Tensor& tensor : plan.tensors()) {
    tensors.emplace_back(flat.begin() + tensor.range.begin, flat.begin() + tensor.range.end);
  }
  return tensors;
}

TEST(InitializeWeightsTest, EveryWorldSizeGetsTheSameWeights) {
  const auto alone = TensorsAt(1, 5);
  for (int world = 2; world <= 9; ++world) EXPECT_EQ(TensorsAt(world, 5), alone) << "world size " << world;
}

TEST(InitializeWeightsTest, AnotherSeedGivesOtherWeightsAndNoTensorRepeatsAnother) {
  const auto weights = TensorsAt(1, 5);
  EXPECT_NE(TensorsAt(1, 6)[0], weights[0]);
  // c_attn.weight of blocks 0 and 1.
  EXPECT_NE(weights[2 + 2], weights[2 + kTensorsPerBlock + 2]);
}

TEST(InitializeWeightsTest, TensorsHaveGpt2sMeansAndDeviations) {
  const ShardPlan plan(1, GptUnits(kConfig));
  const auto tensors = TensorsAt(1, 1);
  for (size_t t = 0; t < tensors.size(); ++t) {
    const TensorSpec& spec = plan.tensors()[t].spec;
    double mean = 0, squares = 0;
    for (const float value : tensors[t]) {
      mean += value / static_cast<double>(tensors[t].size());
      squares += std::pow(value, 2) / static_cast<double>(tensors[t].size());
    }
    if (spec.shape.size() == 1) {
      EXPECT_EQ(mean, absl::EndsWith(spec.name, "weight") ? 1 : 0) << spec.name;
      continue;
    }
    const double deviation = absl::EndsWith(spec.name, "c_proj.weight") ? 0.02 / 4 : 0.02;
    EXPECT_NEAR(mean / deviation, 0, 0.1) << spec.name;
    EXPECT_NEAR(std::sqrt(squares) / deviation, 1, 0.05) << spec.name;
  }
}

TEST(GptUnitsTest, Gpt2SmallHasItsPublishedSizeAndNames) {
  const std::vector<UnitSpec> units =
      GptUnits({.layers = 12, .heads = 12, .channels = 768, .vocab = 50257, .context = 1024});
  int64_t elements = 0;
  for (const UnitSpec& unit : units) {
    for (const TensorSpec& tensor : unit.tensors) {
      int64_t size = 1;
      for (const int64_t dimension : tensor.shape) size *= dimension;
      elements += size;
    }
  }
  EXPECT_EQ(elements, 124439808);
  ASSERT_EQ(units.size(), 14);
  EXPECT_EQ(units[0].tensors[0].name, "wte.weight");
  EXPECT_EQ(units[12].tensors[2].name, "h.11.attn.c_attn.weight");
  EXPECT_EQ(units[12].tensors[2].shape, (std::vector<int64_t>{768, 2304}));
  EXPECT_EQ(units[13].tensors[1].name, "ln_f.bias");
}

}  // namespace
}  // namespace muster::worker
