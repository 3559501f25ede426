// GELU, its exponential, the embedding, AdamW and the norm, each against fp64.

#include "gtest/gtest.h"
#include "worker/model/ops/adamw.h"
#include "worker/model/ops/embedding.h"
#include "worker/model/ops/exp.h"
#include "worker/model/ops/gelu.h"
#include "worker/model/ops/norm.h"
#include "worker/model/ops/testing.h"

namespace muster::worker::ops {
namespace {

double Gelu(double x) { return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }

TEST(ExpTest, IsWithinAFewUnitsOfTheLastPlace) {
  double worst = 0;
  for (double x = -87; x <= 88; x += 0.00173) {
    const auto rounded = static_cast<float>(x);
    const double expected = std::exp(static_cast<double>(rounded));
    worst = std::max(worst, std::abs(Exp(rounded) - expected) / expected);
  }
  EXPECT_LT(worst, 3e-7);
}

TEST(ExpTest, ExtremesStayFiniteAndNanStaysNan) {
  EXPECT_EQ(Exp(0), 1);
  EXPECT_GT(Exp(-1e30f), 0);
  EXPECT_LT(Exp(-1e30f), 1e-37f);
  EXPECT_TRUE(std::isfinite(Exp(1e30f)));
  EXPECT_TRUE(std::isnan(Exp(std::numeric_limits<float>::quiet_NaN())));
}

class ElementwiseTest : public ::testing::TestWithParam<int> {
 protected:
  ThreadPool pool_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Threads, ElementwiseTest, ::testing::Values(1, 2, 3));

TEST_P(ElementwiseTest, GeluMatchesFp64AndFiniteDifferences) {
  Floats x = Random(5003, 1, 3);
  x[0] = 0;
  x[1] = 60;
  x[2] = -60;
  Floats y = Poisoned(x.size());
  GeluForward(pool_, x.size(), x.data(), y.data());
  Doubles expected(x.size());
  for (size_t i = 0; i < x.size(); ++i) expected[i] = Gelu(x[i]);
  ExpectNear(y, expected, 1e-6, "gelu");

  const Floats dy = Random(x.size(), 2);
  Floats dx = dy;
  GeluBackward(pool_, x.size(), x.data(), dx.data());
  for (size_t i = 0; i < x.size(); ++i) {
    const double h = 1e-5;
    expected[i] = dy[i] * (Gelu(x[i] + h) - Gelu(x[i] - h)) / (2 * h);
  }
  ExpectNear(dx, expected, 3e-6, "dgelu");
}

TEST_P(ElementwiseTest, EmbeddingGathersAndScattersRowsAlsoRepeatedOnes) {
  const int64_t batch = 3, length = 7, channels = 37, vocab = 5, context = 9;
  const Floats wte = Random(vocab * channels, 3);
  const Floats wpe = Random(context * channels, 4);
  std::vector<int32_t> tokens(batch * length);
  for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int32_t>(i * i % vocab);
  Floats x = Poisoned(batch * length * channels);
  EmbeddingForward(pool_, batch, length, channels, tokens.data(), wte.data(), wpe.data(), x.data());

  const Floats dx = Random(x.size(), 5);
  const Floats dwte_before = Random(wte.size(), 6);
  const Floats dwpe_before = Random(wpe.size(), 7);
  Doubles expected_x(x.size());
  Doubles expected_dwte = ToDoubles(dwte_before);
  Doubles expected_dwpe = ToDoubles(dwpe_before);
  for (int64_t r = 0; r < batch * length; ++r) {
    for (int64_t c = 0; c < channels; ++c) {
      expected_x[r * channels + c] = wte[tokens[r] * channels + c] + wpe[r % length * channels + c];
      expected_dwte[tokens[r] * channels + c] += dx[r * channels + c];
      expected_dwpe[r % length * channels + c] += dx[r * channels + c];
    }
  }
  ExpectNear(x, expected_x, 1e-7, "x");
  Floats dwte = dwte_before;
  Floats dwpe = dwpe_before;
  EmbeddingBackward(pool_, batch, length, channels, tokens.data(), dx.data(), dwte.data(), dwpe.data());
  ExpectNear(dwte, expected_dwte, 1e-6, "dwte");
  ExpectNear(dwpe, expected_dwpe, 1e-6, "dwpe");
}

TEST_P(ElementwiseTest, AdamWFollowsItsDefinitionOverSteps) {
  const int64_t n = 9001;
  Floats p = Random(n, 8);
  Floats m(n), v(n);
  Doubles p64 = ToDoubles(p), m64(n), v64(n);
  for (int64_t step = 1; step <= 5; ++step) {
    const Floats g = Random(n, static_cast<uint32_t>(100 + step));
    AdamWUpdate(pool_, {1e-2f, 0.9f, 0.95f, 1e-8f, 0.1f, 0.5f, step}, n, g.data(), p.data(), m.data(), v.data());
    for (int64_t i = 0; i < n; ++i) {
      const double scaled = 0.5 * g[i];
      m64[i] = 0.9 * m64[i] + 0.1 * scaled;
      v64[i] = 0.95 * v64[i] + 0.05 * scaled * scaled;
      const double m_hat = m64[i] / (1 - std::pow(0.9, step));
      const double v_hat = v64[i] / (1 - std::pow(0.95, step));
      p64[i] -= 1e-2 * (m_hat / (std::sqrt(v_hat) + 1e-8) + 0.1 * p64[i]);
    }
    ExpectNear(p, p64, 2e-6, "parameter");
    ExpectNear(m, m64, 1e-6, "exp_avg");
    ExpectNear(v, v64, 1e-6, "exp_avg_sq");
  }
}

TEST_P(ElementwiseTest, SumOfSquaresIsAccurateTheSameForAnyThreadsAndSeesNan) {
  Floats x = Random(50001, 9);
  double expected = 0;
  for (const float value : x) expected += static_cast<double>(value) * value;
  const double sum = SumOfSquares(pool_, x.size(), x.data());
  EXPECT_NEAR(sum / expected, 1, 1e-6);
  ThreadPool alone(1);
  EXPECT_EQ(sum, SumOfSquares(alone, x.size(), x.data()));
  x[40000] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(SumOfSquares(pool_, x.size(), x.data())));
  EXPECT_EQ(SumOfSquares(pool_, 0, nullptr), 0);
}

}  // namespace
}  // namespace muster::worker::ops
