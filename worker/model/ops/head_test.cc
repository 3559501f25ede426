#include "worker/model/ops/head.h"

#include "gtest/gtest.h"
#include "worker/model/ops/cross_entropy.h"
#include "worker/model/ops/testing.h"

namespace muster::worker::ops {
namespace {

// softmax(x * table^T) a row, in fp64.
Doubles Probabilities(int64_t rows, int64_t channels, int64_t vocab, const Floats& x, const Floats& table) {
  Doubles p(rows * vocab);
  for (int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (int64_t v = 0; v < vocab; ++v) {
      double logit = 0;
      for (int64_t c = 0; c < channels; ++c)
        logit += static_cast<double>(x[r * channels + c]) * table[v * channels + c];
      sum += p[r * vocab + v] = std::exp(logit);
    }
    for (int64_t v = 0; v < vocab; ++v) p[r * vocab + v] /= sum;
  }
  return p;
}

struct Shape {
  int64_t rows, channels, vocab;
  int threads;
};

class HeadTest : public ::testing::TestWithParam<Shape> {};
// The last two need more than one chunk, the last chunk smaller than the others.
INSTANTIATE_TEST_SUITE_P(Shapes, HeadTest,
                         ::testing::Values(Shape{1, 3, 2, 1}, Shape{50, 24, 31, 2}, Shape{7, 16, 301, 3},
                                           Shape{150, 4, 16500, 2}, Shape{4500, 3, 256, 2}));

TEST_P(HeadTest, LossesAndGradientsMatchFp64) {
  const auto [rows, channels, vocab, threads] = GetParam();
  ThreadPool pool(threads);
  const Floats x = Random(rows * channels, 1), table = Random(vocab * channels, 2);
  std::vector<int32_t> targets(rows);
  for (int64_t r = 0; r < rows; ++r) targets[r] = static_cast<int32_t>(r * 7919 % vocab);
  const double scale = 0.25;
  const Floats dtable_before = Random(table.size(), 3);
  const Doubles p = Probabilities(rows, channels, vocab, x, table);
  Doubles losses64(rows), dx64(rows * channels), dtable64 = ToDoubles(dtable_before);
  for (int64_t r = 0; r < rows; ++r) {
    losses64[r] = -std::log(p[r * vocab + targets[r]]);
    for (int64_t v = 0; v < vocab; ++v) {
      const double d = scale * (p[r * vocab + v] - (v == targets[r] ? 1 : 0));
      for (int64_t c = 0; c < channels; ++c) {
        dx64[r * channels + c] += d * table[v * channels + c];
        dtable64[v * channels + c] += d * x[r * channels + c];
      }
    }
  }
  Floats workspace = Poisoned(HeadWorkspace(rows, vocab));
  Floats losses = Poisoned(rows), dx = Poisoned(rows * channels), dtable = dtable_before;
  HeadLossesAndGradients(pool, rows, channels, vocab, x.data(), table.data(), targets.data(), scale, losses.data(),
                         dx.data(), dtable.data(), workspace.data());
  ExpectNear(losses, losses64, 2e-5, "losses");
  ExpectNear(dx, dx64, 2e-5, "dx");
  ExpectNear(dtable, dtable64, 5e-5, "dtable");

  losses = Poisoned(rows);
  workspace = Poisoned(workspace.size());
  HeadLosses(pool, rows, channels, vocab, x.data(), table.data(), targets.data(), losses.data(), workspace.data());
  ExpectNear(losses, losses64, 2e-5, "losses alone");
}

TEST(CrossEntropyTest, LargeLogitsGiveFiniteLossesAndNotFiniteOnesDoNot) {
  ThreadPool pool(1);
  Floats logits = {1000, -1000, 0, 1000, std::numeric_limits<float>::quiet_NaN(), 0};
  Floats losses = Poisoned(2);
  const int32_t targets[] = {1, 0};
  SoftmaxCrossEntropy(pool, 2, 3, targets, 1, logits.data(), losses.data());
  EXPECT_FLOAT_EQ(losses[0], 2000);
  EXPECT_FLOAT_EQ(logits[0], 1);
  EXPECT_FLOAT_EQ(logits[1], -1);
  EXPECT_TRUE(std::isnan(losses[1]));
}

}  // namespace
}  // namespace muster::worker::ops
