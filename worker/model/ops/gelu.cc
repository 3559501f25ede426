#include "worker/model/ops/gelu.h"

#include "worker/model/ops/exp.h"
#include "worker/model/ops/multiversion.h"

namespace muster::worker::ops {
namespace {

constexpr int64_t kGrain = 1024;
// 2 * sqrt(2 / pi): (1 + tanh(u)) / 2 is the logistic function of 2u.
constexpr float kTwice = 1.59576912f;
constexpr float kCubic = 0.044715f;

MUSTER_MULTIVERSION void Forward(int64_t n, const float* __restrict x, float* __restrict y) {
  for (int64_t i = 0; i < n; ++i) {
    const float v = x[i];
    y[i] = v / (1.0f + Exp(-kTwice * v * (1.0f + kCubic * v * v)));
  }
}

MUSTER_MULTIVERSION void Backward(int64_t n, const float* __restrict x, float* __restrict dy) {
  for (int64_t i = 0; i < n; ++i) {
    const float v = x[i];
    const float square = kCubic * v * v;
    const float s = 1.0f / (1.0f + Exp(-kTwice * v * (1.0f + square)));
    dy[i] *= s + v * s * (1.0f - s) * kTwice * (1.0f + 3.0f * square);
  }
}

}  // namespace

void GeluForward(ThreadPool& pool, int64_t n, const float* x, float* y) {
  pool.ParallelFor(n, kGrain, [&](int64_t begin, int64_t end) { Forward(end - begin, x + begin, y + begin); });
}

void GeluBackward(ThreadPool& pool, int64_t n, const float* x, float* dy) {
  pool.ParallelFor(n, kGrain, [&](int64_t begin, int64_t end) { Backward(end - begin, x + begin, dy + begin); });
}

}  // namespace muster::worker::ops
