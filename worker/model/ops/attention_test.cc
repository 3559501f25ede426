#include "worker/model/ops/attention.h"

#include "gtest/gtest.h"
#include "worker/model/ops/testing.h"

namespace muster::worker::ops {
namespace {

Doubles Reference(const AttentionShape& s, const Doubles& qkv) {
  const int64_t size = s.channels / s.heads;
  const auto at = [&](int64_t b, int64_t t, int64_t which, int64_t h, int64_t i) {
    return qkv[((b * s.length + t) * 3 + which) * s.channels + h * size + i];
  };
  Doubles y(s.batch * s.length * s.channels);
  for (int64_t b = 0; b < s.batch; ++b) {
    for (int64_t h = 0; h < s.heads; ++h) {
      for (int64_t t = 0; t < s.length; ++t) {
        Doubles weight(t + 1);
        double sum = 0;
        for (int64_t u = 0; u <= t; ++u) {
          double score = 0;
          for (int64_t i = 0; i < size; ++i) score += at(b, t, 0, h, i) * at(b, u, 1, h, i);
          weight[u] = std::exp(score / std::sqrt(size));
          sum += weight[u];
        }
        for (int64_t u = 0; u <= t; ++u) {
          for (int64_t i = 0; i < size; ++i) {
            y[(b * s.length + t) * s.channels + h * size + i] += weight[u] / sum * at(b, u, 2, h, i);
          }
        }
      }
    }
  }
  return y;
}

struct Case {
  AttentionShape shape;
  int threads;
};

class AttentionTest : public ::testing::TestWithParam<Case> {};
// Lengths within a block of queries, of exactly one or two, and beyond.
INSTANTIATE_TEST_SUITE_P(Shapes, AttentionTest,
                         ::testing::Values(Case{{1, 1, 4, 2}, 1}, Case{{2, 5, 12, 3}, 2}, Case{{1, 64, 4, 1}, 1},
                                           Case{{1, 65, 6, 2}, 3}, Case{{2, 128, 4, 2}, 2}));

TEST_P(AttentionTest, ForwardMatchesFp64AndBackwardFiniteDifferences) {
  const auto& [shape, threads] = GetParam();
  ThreadPool pool(threads);
  const int64_t elements = shape.batch * shape.length * shape.channels;
  const Floats qkv = Random(3 * elements, 1);
  Floats workspace = Poisoned(AttentionWorkspace(pool, shape.length));
  Floats y = Poisoned(elements), log_sum = Poisoned(shape.batch * shape.heads * shape.length);
  AttentionForward(pool, shape, qkv.data(), y.data(), log_sum.data(), workspace.data());
  ExpectNear(y, Reference(shape, ToDoubles(qkv)), 1e-5, "y");

  const Floats dy = Random(elements, 2);
  Floats dqkv = Poisoned(3 * elements);
  workspace = Poisoned(workspace.size());
  AttentionBackward(pool, shape, qkv.data(), y.data(), log_sum.data(), dy.data(), dqkv.data(), workspace.data());
  if (shape.length <= 65) {
    ExpectNear(dqkv, FiniteDifferences(ToDoubles(qkv), [&](const Doubles& v) { return Dot(Reference(shape, v), dy); }),
               5e-5, "dqkv");
    return;
  }
  // The derivative along a few random directions.
  for (uint32_t seed = 10; seed < 14; ++seed) {
    const Floats direction = Random(3 * elements, seed);
    const double expected = FiniteDifferences({0}, [&](const Doubles& t) {
      Doubles moved = ToDoubles(qkv);
      for (size_t i = 0; i < moved.size(); ++i) moved[i] += t[0] * direction[i];
      return Dot(Reference(shape, moved), dy);
    })[0];
    EXPECT_NEAR(Dot(ToDoubles(dqkv), direction), expected, 1e-4 * (1 + std::abs(expected)));
  }
}

TEST_P(AttentionTest, LargeScoresDoNotOverflow) {
  const auto& [shape, threads] = GetParam();
  ThreadPool pool(threads);
  const int64_t elements = shape.batch * shape.length * shape.channels;
  const Floats qkv = Random(3 * elements, 3, 100);
  Floats workspace = Poisoned(AttentionWorkspace(pool, shape.length));
  Floats y = Poisoned(elements), log_sum = Poisoned(shape.batch * shape.heads * shape.length);
  AttentionForward(pool, shape, qkv.data(), y.data(), log_sum.data(), workspace.data());
  for (const float value : y) ASSERT_TRUE(std::isfinite(value));
}

}  // namespace
}  // namespace muster::worker::ops
