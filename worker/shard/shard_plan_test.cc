#include "worker/shard/shard_plan.h"

#include <algorithm>
#include <map>
#include <random>

#include "gtest/gtest.h"

namespace muster::worker {
namespace {

std::vector<UnitSpec> RandomUnits(std::mt19937& random) {
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  std::vector<UnitSpec> units(pick(1, 6));
  for (size_t u = 0; u < units.size(); ++u) {
    units[u].name = "unit" + std::to_string(u);
    units[u].tensors.resize(pick(1, 7));
    for (size_t t = 0; t < units[u].tensors.size(); ++t) {
      TensorSpec& tensor = units[u].tensors[t];
      tensor.name = units[u].name + "." + std::to_string(t);
      tensor.shape.assign(1, pick(1, 300));
      if (pick(0, 1) == 1) tensor.shape.push_back(pick(1, 9));
    }
  }
  return units;
}

int64_t Elements(const TensorSpec& spec) {
  int64_t elements = 1;
  for (const int64_t dimension : spec.shape) elements *= dimension;
  return elements;
}

// How often each element of each tensor comes in the slices of all ranks.
std::map<std::string, std::vector<int>> Cover(const ShardPlan& plan) {
  std::map<std::string, std::vector<int>> times;
  for (const ShardPlan::Tensor& tensor : plan.tensors()) times[tensor.spec.name].resize(Elements(tensor.spec));
  for (int rank = 0; rank < plan.world(); ++rank) {
    for (size_t unit = 0; unit < plan.units().size(); ++unit) {
      for (const TensorRange& part : plan.Intersect(plan.Slice(unit, rank))) {
        for (int64_t i = 0; i < part.length; ++i) ++times[plan.tensors()[part.tensor].spec.name].at(part.start + i);
      }
    }
  }
  return times;
}

TEST(ShardPlanTest, SlicesOfAllRanksCoverEveryElementOnceAtEveryWorldSize) {
  std::mt19937 random(20240917);
  for (int trial = 0; trial < 60; ++trial) {
    const std::vector<UnitSpec> units = RandomUnits(random);
    for (int world = 1; world <= 9; ++world) {
      for (const auto& [name, times] : Cover(ShardPlan(world, units))) {
        ASSERT_EQ(times, std::vector<int>(times.size(), 1))
            << name << " in trial " << trial << " at world size " << world;
      }
    }
  }
}

TEST(ShardPlanTest, TensorsAreAlignedInOrderAndApart) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 60; ++trial) {
    const std::vector<UnitSpec> units = RandomUnits(random);
    for (int world = 1; world <= 9; ++world) {
      const ShardPlan plan(world, units);
      int64_t end = 0;
      for (const ShardPlan::Tensor& tensor : plan.tensors()) {
        EXPECT_EQ(tensor.range.begin % ShardPlan::kTensorAlignment, 0);
        EXPECT_GE(tensor.range.begin, end);
        EXPECT_EQ(tensor.range.size(), Elements(tensor.spec));
        EXPECT_GE(tensor.range.begin, plan.units()[tensor.unit].range.begin);
        EXPECT_LE(tensor.range.end, plan.units()[tensor.unit].range.end);
        end = tensor.range.end;
      }
    }
  }
}

TEST(ShardPlanTest, SlicesAreEqualAlignedAndFillTheShard) {
  std::mt19937 random(8);
  for (int trial = 0; trial < 60; ++trial) {
    const std::vector<UnitSpec> units = RandomUnits(random);
    for (int world = 1; world <= 9; ++world) {
      const ShardPlan plan(world, units);
      for (int rank = 0; rank < world; ++rank) {
        int64_t shard = 0;
        for (size_t unit = 0; unit < plan.units().size(); ++unit) {
          const FlatRange slice = plan.Slice(unit, rank);
          EXPECT_EQ(slice.begin % ShardPlan::kTensorAlignment, 0);
          EXPECT_EQ(slice.size() * world, plan.units()[unit].range.size());
          EXPECT_EQ(plan.ShardOffset(unit), shard);
          shard += slice.size();
        }
        EXPECT_EQ(plan.shard_size(), shard);
      }
      EXPECT_EQ(plan.units().back().range.end, plan.size());
    }
  }
}

TEST(ShardPlanTest, IntersectMapsFlatElementsToTheRightTensorElements) {
  std::mt19937 random(9);
  for (int trial = 0; trial < 60; ++trial) {
    const ShardPlan plan(1 + trial % 9, RandomUnits(random));
    // The owner of each flat element, and its index there.
    std::vector<std::pair<int, int64_t>> owner(plan.size(), {-1, 0});
    for (size_t t = 0; t < plan.tensors().size(); ++t) {
      const FlatRange range = plan.tensors()[t].range;
      for (int64_t i = range.begin; i < range.end; ++i) owner[i] = {static_cast<int>(t), i - range.begin};
    }
    std::uniform_int_distribution<int64_t> position(0, plan.size());
    for (int query = 0; query < 10; ++query) {
      int64_t begin = position(random);
      int64_t end = position(random);
      if (begin > end) std::swap(begin, end);
      std::vector<std::pair<int, int64_t>> found(plan.size(), {-1, 0});
      for (const TensorRange& part : plan.Intersect({begin, end})) {
        for (int64_t i = 0; i < part.length; ++i) found.at(part.flat + i) = {part.tensor, part.start + i};
      }
      std::vector<std::pair<int, int64_t>> expected(plan.size(), {-1, 0});
      std::copy(owner.begin() + begin, owner.begin() + end, expected.begin() + begin);
      ASSERT_EQ(found, expected) << "range " << begin << ".." << end << " in trial " << trial;
    }
  }
}

TEST(ShardPlanTest, EmptyRangeHasNoParts) {
  const ShardPlan plan(2, {{"only", {{"w", {100}}}}});
  EXPECT_TRUE(plan.Intersect({50, 50}).empty());
  EXPECT_TRUE(plan.Intersect({0, 0}).empty());
  EXPECT_TRUE(plan.Intersect({100, 128}).empty());
}

}  // namespace
}  // namespace muster::worker
