#include "worker/model/ops/thread_pool.h"

#include <numeric>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::worker::ops {
namespace {

using ::testing::Each;

TEST(PartOfTest, PartsCoverTheRangeInOrderAndAreEvenInGrains) {
  for (const int64_t n : {0, 1, 7, 16, 17, 100, 1000}) {
    for (const int64_t grain : {1, 3, 16}) {
      for (int parts = 1; parts <= 9; ++parts) {
        int64_t end = 0;
        int64_t least = n;
        int64_t most = 0;
        for (int part = 0; part < parts; ++part) {
          const Part range = PartOf(n, grain, part, parts);
          EXPECT_EQ(range.begin, end);
          EXPECT_TRUE(range.end % grain == 0 || range.end == n);
          end = range.end;
          least = std::min(least, range.size());
          most = std::max(most, range.size());
        }
        EXPECT_EQ(end, n);
        EXPECT_LT(most - least, 2 * grain);
      }
    }
  }
}

TEST(ThreadPoolTest, EveryPartOfEveryRoundRunsOnce) {
  for (int threads = 1; threads <= 5; ++threads) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    std::vector<int> rounds(threads);
    for (int round = 0; round < 2000; ++round) {
      pool.Run([&](int part, int parts) {
        ASSERT_EQ(parts, threads);
        ++rounds[part];
      });
    }
    EXPECT_THAT(rounds, Each(2000)) << threads << " threads";
  }
}

TEST(ThreadPoolTest, ParallelForReachesEveryElementOnceAndItsWritesAreSeen) {
  ThreadPool pool(4);
  std::vector<int64_t> values(1001);
  for (int round = 1; round <= 200; ++round) {
    pool.ParallelFor(1001, 8, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) values[i] += i;
    });
    ASSERT_EQ(std::accumulate(values.begin(), values.end(), int64_t{0}), round * 1000 * 1001 / 2);
  }
}

TEST(ThreadPoolTest, ParallelForLeavesOutEmptyParts) {
  ThreadPool pool(4);
  pool.ParallelFor(0, 1, [](int64_t, int64_t) { FAIL() << "called for nothing"; });
}

}  // namespace
}  // namespace muster::worker::ops
