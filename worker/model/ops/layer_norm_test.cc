#include "worker/model/ops/layer_norm.h"

#include "gtest/gtest.h"
#include "worker/model/ops/testing.h"

namespace muster::worker::ops {
namespace {

Doubles Reference(int64_t rows, int64_t channels, const Doubles& x, const Doubles& weight, const Doubles& bias) {
  Doubles y(rows * channels);
  for (int64_t r = 0; r < rows; ++r) {
    double mean = 0, variance = 0;
    for (int64_t c = 0; c < channels; ++c) mean += x[r * channels + c] / channels;
    for (int64_t c = 0; c < channels; ++c) variance += std::pow(x[r * channels + c] - mean, 2) / channels;
    for (int64_t c = 0; c < channels; ++c) {
      y[r * channels + c] = (x[r * channels + c] - mean) / std::sqrt(variance + 1e-5) * weight[c] + bias[c];
    }
  }
  return y;
}

struct Shape {
  int64_t rows, channels;
  int threads;
};

class LayerNormTest : public ::testing::TestWithParam<Shape> {};
INSTANTIATE_TEST_SUITE_P(Shapes, LayerNormTest,
                         ::testing::Values(Shape{1, 2, 1}, Shape{5, 37, 1}, Shape{19, 48, 2}, Shape{40, 20, 3}));

TEST_P(LayerNormTest, ForwardMatchesFp64AndBackwardFiniteDifferences) {
  const auto [rows, channels, threads] = GetParam();
  ThreadPool pool(threads);
  Floats x = Random(rows * channels, 1, 2), weight = Random(channels, 2), bias = Random(channels, 3);
  for (float& value : x) value += 3;
  const Doubles x64 = ToDoubles(x), weight64 = ToDoubles(weight), bias64 = ToDoubles(bias);
  Floats y = Poisoned(x.size()), mean = Poisoned(rows), rstd = Poisoned(rows);
  LayerNormForward(pool, rows, channels, x.data(), weight.data(), bias.data(), y.data(), mean.data(), rstd.data());
  ExpectNear(y, Reference(rows, channels, x64, weight64, bias64), 1e-5, "y");

  const Floats dy = Random(x.size(), 4);
  const Floats dx_before = Random(x.size(), 5), dw_before = Random(channels, 6), db_before = Random(channels, 7);
  Floats dx = dx_before, dw = dw_before, db = db_before;
  LayerNormBackward(pool, rows, channels, x.data(), weight.data(), mean.data(), rstd.data(), dy.data(), dx.data(),
                    dw.data(), db.data());
  const auto expect = [&](const Floats& actual, const Floats& before, const Doubles& at, auto loss, const char* what) {
    ExpectNear(actual, Plus(FiniteDifferences(at, loss), before), 5e-5, what);
  };
  expect(
      dx, dx_before, x64, [&](const Doubles& v) { return Dot(Reference(rows, channels, v, weight64, bias64), dy); },
      "dx");
  expect(
      dw, dw_before, weight64, [&](const Doubles& v) { return Dot(Reference(rows, channels, x64, v, bias64), dy); },
      "dweight");
  expect(
      db, db_before, bias64, [&](const Doubles& v) { return Dot(Reference(rows, channels, x64, weight64, v), dy); },
      "dbias");
}

}  // namespace
}  // namespace muster::worker::ops
