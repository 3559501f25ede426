#include "worker/model/init.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "absl/strings/match.h"
#include "worker/model/random.h"

namespace muster::worker {
namespace {

constexpr double kDeviation = 0.02;

}  // namespace

float NormalAt(uint64_t seed, uint64_t stream, uint64_t index) {
  const uint64_t bits = RandomBitsAt(seed, stream, index);
  // Box and Muller, 1958. Uniform in (0, 1], so that the logarithm is finite, and [0, 1).
  const double u = (static_cast<double>(bits >> 32) + 1) * 0x1p-32;
  const double v = static_cast<double>(bits & 0xFFFFFFFF) * 0x1p-32;
  return static_cast<float>(std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v));
}

void InitializeWeights(uint64_t seed, const ShardPlan& plan, float* flat) {
  const auto layers = static_cast<double>(plan.units().size() - 2);
  for (size_t t = 0; t < plan.tensors().size(); ++t) {
    const ShardPlan::Tensor& tensor = plan.tensors()[t];
    float* const begin = flat + tensor.range.begin;
    if (tensor.spec.shape.size() == 1) {
      std::fill_n(begin, tensor.range.size(), absl::EndsWith(tensor.spec.name, ".weight") ? 1.0f : 0.0f);
      continue;
    }
    const bool ends_residual = absl::EndsWith(tensor.spec.name, ".c_proj.weight");
    const auto deviation = static_cast<float>(ends_residual ? kDeviation / std::sqrt(2 * layers) : kDeviation);
    for (int64_t i = 0; i < tensor.range.size(); ++i) begin[i] = deviation * NormalAt(seed, t, i);
  }
}

}  // namespace muster::worker
