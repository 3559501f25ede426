#include "worker/model/ops/linear.h"

#include "gtest/gtest.h"
#include "worker/model/ops/testing.h"

namespace muster::worker::ops {
namespace {

struct Shape {
  int64_t rows, in, out;
  int threads;
};

class LinearTest : public ::testing::TestWithParam<Shape> {};
INSTANTIATE_TEST_SUITE_P(Shapes, LinearTest,
                         ::testing::Values(Shape{1, 1, 1, 1}, Shape{33, 20, 52, 1}, Shape{33, 52, 20, 2},
                                           Shape{3, 48, 16, 3}, Shape{100, 64, 192, 4}));

TEST_P(LinearTest, ForwardAndBackwardMatchFp64) {
  const auto [rows, in, out, threads] = GetParam();
  ThreadPool pool(threads);
  const Floats x = Random(rows * in, 1), w = Random(in * out, 2), bias = Random(out, 3),
               residual = Random(rows * out, 4);
  Doubles product(rows * out);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 0; i < in; ++i) {
      for (int64_t o = 0; o < out; ++o) product[r * out + o] += static_cast<double>(x[r * in + i]) * w[i * out + o];
    }
    for (int64_t o = 0; o < out; ++o) product[r * out + o] += bias[o];
  }
  Floats y = Poisoned(rows * out);
  LinearForward(pool, rows, in, out, x.data(), w.data(), bias.data(), nullptr, y.data());
  ExpectNear(y, product, 2e-5, "y");
  y = Poisoned(rows * out);
  LinearForward(pool, rows, in, out, x.data(), w.data(), bias.data(), residual.data(), y.data());
  ExpectNear(y, Plus(product, residual), 2e-5, "y with residual");

  const Floats dy = Random(rows * out, 5), dw_before = Random(in * out, 6), db_before = Random(out, 7);
  Doubles dx64(rows * in), dw64 = ToDoubles(dw_before), db64 = ToDoubles(db_before);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t o = 0; o < out; ++o) {
      const double d = dy[r * out + o];
      db64[o] += d;
      for (int64_t i = 0; i < in; ++i) {
        dx64[r * in + i] += d * w[i * out + o];
        dw64[i * out + o] += d * x[r * in + i];
      }
    }
  }
  Floats dx = Poisoned(rows * in), dw = dw_before, db = db_before;
  LinearBackward(pool, rows, in, out, x.data(), w.data(), dy.data(), dx.data(), dw.data(), db.data());
  ExpectNear(dx, dx64, 2e-5, "dx");
  ExpectNear(dw, dw64, 2e-5, "dweight");
  ExpectNear(db, db64, 2e-5, "dbias");
}

}  // namespace
}  // namespace muster::worker::ops
