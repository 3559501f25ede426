#include "worker/model/ops/adamw.h"

#include <cmath>

#include "worker/model/ops/multiversion.h"

namespace muster::worker::ops {
namespace {

constexpr int64_t kGrain = 4096;

struct Factors {
  float beta1;
  float beta2;
  float eps;
  float gradient_scale;
  float keep;         // 1 - lr * weight_decay
  float rate;         // lr / (1 - beta1^step)
  float correction2;  // 1 / (1 - beta2^step)
};

MUSTER_MULTIVERSION void Update(Factors f, int64_t n, const float* __restrict gradient, float* __restrict parameter,
                                float* __restrict exp_avg, float* __restrict exp_avg_sq) {
  for (int64_t i = 0; i < n; ++i) {
    const float g = gradient[i] * f.gradient_scale;
    const float m = f.beta1 * exp_avg[i] + (1.0f - f.beta1) * g;
    const float v = f.beta2 * exp_avg_sq[i] + (1.0f - f.beta2) * g * g;
    exp_avg[i] = m;
    exp_avg_sq[i] = v;
    parameter[i] = f.keep * parameter[i] - f.rate * m / (std::sqrt(v * f.correction2) + f.eps);
  }
}

}  // namespace

void AdamWUpdate(ThreadPool& pool, const AdamW& update, int64_t n, const float* gradient, float* parameter,
                 float* exp_avg, float* exp_avg_sq) {
  const auto step = static_cast<double>(update.step);
  const Factors factors = {
      .beta1 = update.beta1,
      .beta2 = update.beta2,
      .eps = update.eps,
      .gradient_scale = update.gradient_scale,
      .keep = 1.0f - update.lr * update.weight_decay,
      .rate = static_cast<float>(update.lr / (1.0 - std::pow(static_cast<double>(update.beta1), step))),
      .correction2 = static_cast<float>(1.0 / (1.0 - std::pow(static_cast<double>(update.beta2), step))),
  };
  pool.ParallelFor(n, kGrain, [&](int64_t begin, int64_t end) {
    Update(factors, end - begin, gradient + begin, parameter + begin, exp_avg + begin, exp_avg_sq + begin);
  });
}

}  // namespace muster::worker::ops
