#include "worker/data/sample_order.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace muster::worker {
namespace {

std::vector<uint64_t> Epoch(const SampleOrder& order, uint64_t samples, uint64_t epoch) {
  std::vector<uint64_t> ids;
  for (uint64_t i = 0; i < samples; ++i) ids.push_back(order.IdAt(epoch * samples + i));
  return ids;
}

bool IsPermutation(std::vector<uint64_t> ids) {
  std::sort(ids.begin(), ids.end());
  for (uint64_t i = 0; i < ids.size(); ++i) {
    if (ids[i] != i) return false;
  }
  return true;
}

TEST(SampleOrderTest, EveryLengthUpTo300GivesEachIdOnceAnEpoch) {
  for (uint64_t n = 1; n <= 300; ++n) {
    const SampleOrder order(/*seed=*/n * 7919, n);
    for (uint64_t epoch : {0, 1, 2, 1000}) ASSERT_TRUE(IsPermutation(Epoch(order, n, epoch))) << n << " " << epoch;
  }
}

TEST(SampleOrderTest, PrimesAndNeighboursOfPowersOfTwoGiveEachIdOnceAnEpoch) {
  std::vector<uint64_t> lengths = {997, 7919, 65521, 104729};
  for (int k = 9; k <= 17; ++k) {
    for (int d : {-1, 0, 1}) lengths.push_back((uint64_t{1} << k) + d);
  }
  for (uint64_t n : lengths) {
    for (uint64_t seed : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}}) {
      ASSERT_TRUE(IsPermutation(Epoch(SampleOrder(seed, n), n, seed % 3))) << n << " " << seed;
    }
  }
}

TEST(SampleOrderTest, HugeLengthsStayInRange) {
  for (uint64_t n : {(uint64_t{1} << 62) - 1, (uint64_t{1} << 62) + 1, uint64_t{1} << 63, ~uint64_t{0}}) {
    const SampleOrder order(3, n);
    for (uint64_t p = 0; p < 1000; ++p) EXPECT_LT(order.IdAt(n - 500 + p), n);
  }
}

// The order is part of what a checkpoint means: a change here would reorder the data of every job that resumes.
TEST(SampleOrderTest, OrderIsFixedForEver) {
  const SampleOrder order(1, 10);
  EXPECT_EQ(Epoch(order, 10, 0), (std::vector<uint64_t>{6, 1, 9, 2, 4, 7, 5, 8, 3, 0}));
  EXPECT_EQ(Epoch(order, 10, 1), (std::vector<uint64_t>{6, 8, 2, 7, 0, 1, 5, 4, 3, 9}));
  const SampleOrder large(42, 1'000'003);
  EXPECT_EQ((std::vector<uint64_t>{large.IdAt(0), large.IdAt(1), large.IdAt(5'000'000'000)}),
            (std::vector<uint64_t>{717268, 431201, 731629}));
}

TEST(SampleOrderTest, EpochsAndSeedsDiffer) {
  const SampleOrder one(1, 1000);
  const SampleOrder two(2, 1000);
  EXPECT_NE(Epoch(one, 1000, 0), Epoch(one, 1000, 1));
  EXPECT_NE(Epoch(one, 1000, 0), Epoch(two, 1000, 0));
}

// Neighbours in the data are not neighbours in training, and the first half of the data is not favoured early.
TEST(SampleOrderTest, OrderLooksShuffled) {
  constexpr uint64_t n = 10'000;
  int64_t neighbours = 0;
  int64_t low_half_early = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<uint64_t> ids = Epoch(SampleOrder(seed, n), n, seed);
    for (uint64_t i = 0; i + 1 < n; ++i) neighbours += ids[i] + 1 == ids[i + 1];
    for (uint64_t i = 0; i < n / 2; ++i) low_half_early += ids[i] < n / 2;
  }
  EXPECT_LT(neighbours, 20 * 10);                   // one an epoch is expected
  EXPECT_NEAR(low_half_early / 20.0, n / 4.0, 60);  // standard deviation about 11
}

TEST(SampleOrderTest, SmallDomainReachesEveryPermutation) {
  std::vector<std::vector<uint64_t>> seen;
  for (uint64_t seed = 0; seed < 400; ++seed) seen.push_back(Epoch(SampleOrder(seed, 4), 4, 0));
  std::sort(seen.begin(), seen.end());
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  EXPECT_EQ(seen.size(), 24);
}

TEST(MicroBatchesOfRankTest, EveryWorldSizeCoversAllOnceAndEvenly) {
  for (int64_t micro_batches = 0; micro_batches <= 40; ++micro_batches) {
    for (int world = 1; world <= 17; ++world) {
      int64_t next = 0;
      for (int rank = 0; rank < world; ++rank) {
        const MicroBatchRange range = MicroBatchesOfRank(micro_batches, rank, world);
        ASSERT_EQ(range.first, next);
        ASSERT_GE(range.count, micro_batches / world);
        ASSERT_LE(range.count, (micro_batches + world - 1) / world);
        next += range.count;
      }
      ASSERT_EQ(next, micro_batches);
    }
  }
}

// What a job with failures and growth does: steps at changing world sizes, some of them lost and redone after going
// back to a checkpoint. What counts in the end is each sample of each epoch exactly once.
TEST(SampleOrderTest, RandomResizesAndRedoneStepsUseEachSampleOncePerEpoch) {
  for (uint64_t trial = 0; trial < 50; ++trial) {
    std::mt19937_64 random(trial);
    const int64_t micro = 1 + random() % 4;
    const int64_t micro_batches = 8 + random() % 8;
    const int64_t global = micro * micro_batches;
    const uint64_t samples = global * (1 + random() % 20);
    const SampleOrder order(trial, samples);
    const uint64_t epochs = 3;

    std::vector<uint64_t> used;  // by position
    uint64_t consumed = 0;
    uint64_t committed = 0;
    while (consumed < epochs * samples) {
      const int world = 1 + random() % 8;
      for (int rank = 0; rank < world; ++rank) {
        const MicroBatchRange range = MicroBatchesOfRank(micro_batches, rank, world);
        for (int64_t s = range.first * micro; s < (range.first + range.count) * micro; ++s) {
          used.push_back(order.IdAt(consumed + s));
        }
      }
      consumed += global;
      if (random() % 3 == 0) committed = consumed;
      if (random() % 7 == 0) {
        consumed = committed;
        used.resize(consumed);
      }
    }
    for (uint64_t e = 0; e < epochs; ++e) {
      ASSERT_TRUE(IsPermutation({used.begin() + e * samples, used.begin() + (e + 1) * samples})) << "trial " << trial;
    }
  }
}

}  // namespace
}  // namespace muster::worker
