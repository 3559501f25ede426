#include "worker/model/ops/attention.h"

#include <algorithm>
#include <cmath>

#include "worker/model/ops/exp.h"
#include "worker/model/ops/matmul.h"
#include "worker/model/ops/multiversion.h"

namespace muster::worker::ops {
namespace {

// Queries taken together: keys after the last of them are not looked at, so smaller blocks save work, larger ones make
// better products.
constexpr int64_t kQueries = 64;

// Row `query` of a block's scores, of which the first `visible` count: scores become weights, zero from visible to
// `keys`. Returns the log of the sum of exponentials.
MUSTER_MULTIVERSION float SoftmaxRow(int64_t visible, int64_t keys, float* scores) {
  float max = scores[0];
#pragma omp simd reduction(max : max)
  for (int64_t j = 0; j < visible; ++j) max = std::max(max, scores[j]);
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < visible; ++j) {
    scores[j] = Exp(scores[j] - max);
    sum += scores[j];
  }
  const float scale = 1.0f / sum;
  for (int64_t j = 0; j < visible; ++j) scores[j] *= scale;
  std::fill(scores + visible, scores + keys, 0.0f);
  return max + std::log(sum);
}

// Scores become the weights that SoftmaxRow made of them.
MUSTER_MULTIVERSION void WeightsRow(int64_t visible, int64_t keys, float log_sum, float* scores) {
  for (int64_t j = 0; j < visible; ++j) scores[j] = Exp(scores[j] - log_sum);
  std::fill(scores + visible, scores + keys, 0.0f);
}

MUSTER_MULTIVERSION float Dot(int64_t n, const float* a, const float* b) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

// The gradient of the weights becomes that of the scores. `dot` is the row's sum of weight * gradient.
MUSTER_MULTIVERSION void SoftmaxBackwardRow(int64_t keys, float dot, const float* __restrict weights,
                                            float* __restrict gradient) {
  for (int64_t j = 0; j < keys; ++j) gradient[j] = weights[j] * (gradient[j] - dot);
}

// One head of one sequence: where its parts begin, and how far apart its positions are.
struct Head {
  Head(const AttentionShape& shape, int64_t index)
      : size(shape.channels / shape.heads),
        qkv_stride(3 * shape.channels),
        y_stride(shape.channels),
        scale(1.0f / std::sqrt(static_cast<float>(size))),
        q(index / shape.heads * shape.length * qkv_stride + index % shape.heads * size),
        k(q + shape.channels),
        v(k + shape.channels),
        y(index / shape.heads * shape.length * y_stride + index % shape.heads * size),
        log_sum(index * shape.length) {}

  int64_t size;
  int64_t qkv_stride;
  int64_t y_stride;
  float scale;
  int64_t q;
  int64_t k;
  int64_t v;
  int64_t y;
  int64_t log_sum;
};

void HeadForward(const Head& h, int64_t length, const float* qkv, float* y, float* log_sum, float* scores) {
  for (int64_t begin = 0; begin < length; begin += kQueries) {
    const int64_t keys = std::min(length, begin + kQueries);
    const int64_t queries = keys - begin;
    const float* q = qkv + h.q + begin * h.qkv_stride;
    MatMul(queries, keys, h.size, h.scale, {q, h.qkv_stride}, {qkv + h.k, h.qkv_stride, true}, 0, scores, keys);
    for (int64_t i = 0; i < queries; ++i) {
      log_sum[h.log_sum + begin + i] = SoftmaxRow(begin + i + 1, keys, scores + i * keys);
    }
    MatMul(queries, h.size, keys, 1, {scores, keys}, {qkv + h.v, h.qkv_stride}, 0, y + h.y + begin * h.y_stride,
           h.y_stride);
  }
}

void HeadBackward(const Head& h, int64_t length, const float* qkv, const float* y, const float* log_sum,
                  const float* dy, float* dqkv, float* weights, float* gradient) {
  // From the last block to the first: the last one sees all keys, so it sets what the others add to.
  const int64_t last = (length - 1) / kQueries * kQueries;
  for (int64_t begin = last; begin >= 0; begin -= kQueries) {
    const int64_t keys = std::min(length, begin + kQueries);
    const int64_t queries = keys - begin;
    const float beta = begin == last ? 0 : 1;
    const Operand q = {qkv + h.q + begin * h.qkv_stride, h.qkv_stride};
    const Operand k = {qkv + h.k, h.qkv_stride};
    const Operand v = {qkv + h.v, h.qkv_stride};
    const Operand dy_block = {dy + h.y + begin * h.y_stride, h.y_stride};
    const auto transposed = [](Operand x) { return Operand{x.data, x.stride, true}; };

    MatMul(queries, keys, h.size, h.scale, q, transposed(k), 0, weights, keys);
    for (int64_t i = 0; i < queries; ++i) {
      WeightsRow(begin + i + 1, keys, log_sum[h.log_sum + begin + i], weights + i * keys);
    }
    MatMul(keys, h.size, queries, 1, {weights, keys, true}, dy_block, beta, dqkv + h.v, h.qkv_stride);
    MatMul(queries, keys, h.size, 1, dy_block, transposed(v), 0, gradient, keys);
    for (int64_t i = 0; i < queries; ++i) {
      const float dot = Dot(h.size, dy_block.data + i * h.y_stride, y + h.y + (begin + i) * h.y_stride);
      SoftmaxBackwardRow(keys, dot, weights + i * keys, gradient + i * keys);
    }
    MatMul(queries, h.size, keys, h.scale, {gradient, keys}, k, 0, dqkv + h.q + begin * h.qkv_stride, h.qkv_stride);
    MatMul(keys, h.size, queries, h.scale, {gradient, keys, true}, q, beta, dqkv + h.k, h.qkv_stride);
  }
}

int64_t ThreadWorkspace(int64_t length) { return 2 * kQueries * length; }

}  // namespace

int64_t AttentionWorkspace(const ThreadPool& pool, int64_t length) { return pool.threads() * ThreadWorkspace(length); }

void AttentionForward(ThreadPool& pool, const AttentionShape& shape, const float* qkv, float* y, float* log_sum,
                      float* workspace) {
  pool.Run([&](int part, int parts) {
    const Part heads = PartOf(shape.batch * shape.heads, 1, part, parts);
    float* scores = workspace + part * ThreadWorkspace(shape.length);
    for (int64_t h = heads.begin; h < heads.end; ++h) HeadForward({shape, h}, shape.length, qkv, y, log_sum, scores);
  });
}

void AttentionBackward(ThreadPool& pool, const AttentionShape& shape, const float* qkv, const float* y,
                       const float* log_sum, const float* dy, float* dqkv, float* workspace) {
  pool.Run([&](int part, int parts) {
    const Part heads = PartOf(shape.batch * shape.heads, 1, part, parts);
    float* weights = workspace + part * ThreadWorkspace(shape.length);
    float* gradient = weights + kQueries * shape.length;
    for (int64_t h = heads.begin; h < heads.end; ++h) {
      HeadBackward({shape, h}, shape.length, qkv, y, log_sum, dy, dqkv, weights, gradient);
    }
  });
}

}  // namespace muster::worker::ops
