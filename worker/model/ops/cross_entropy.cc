#include "worker/model/ops/cross_entropy.h"

#include <algorithm>
#include <cmath>

#include "worker/model/ops/exp.h"
#include "worker/model/ops/multiversion.h"

namespace muster::worker::ops {
namespace {

MUSTER_MULTIVERSION float Row(int64_t vocab, int32_t target, float scale, float* logits) {
  float max = logits[0];
#pragma omp simd reduction(max : max)
  for (int64_t v = 0; v < vocab; ++v) max = std::max(max, logits[v]);
  const float target_logit = logits[target];
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t v = 0; v < vocab; ++v) {
    logits[v] = Exp(logits[v] - max);
    sum += logits[v];
  }
  const float factor = scale / sum;
  for (int64_t v = 0; v < vocab; ++v) logits[v] *= factor;
  logits[target] -= scale;
  return max + std::log(sum) - target_logit;
}

}  // namespace

void SoftmaxCrossEntropy(ThreadPool& pool, int64_t rows, int64_t vocab, const int32_t* targets, float scale,
                         float* logits, float* losses) {
  pool.ParallelFor(rows, 1, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) losses[r] = Row(vocab, targets[r], scale, logits + r * vocab);
  });
}

}  // namespace muster::worker::ops
