#include "worker/model/ops/norm.h"

#include <algorithm>
#include <vector>

#include "worker/model/ops/multiversion.h"

namespace muster::worker::ops {
namespace {

// Summed in fp32 on their own, then in fp64 in order.
constexpr int64_t kBlock = 4096;

MUSTER_MULTIVERSION float BlockSum(int64_t n, const float* x) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += x[i] * x[i];
  return sum;
}

}  // namespace

double SumOfSquares(ThreadPool& pool, int64_t n, const float* x) {
  std::vector<float> sums((n + kBlock - 1) / kBlock);
  pool.ParallelFor(static_cast<int64_t>(sums.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) sums[b] = BlockSum(std::min(kBlock, n - b * kBlock), x + b * kBlock);
  });
  double total = 0;
  for (const float sum : sums) total += sum;
  return total;
}

}  // namespace muster::worker::ops
