#include "worker/model/ops/layer_norm.h"

#include <cmath>

#include "worker/model/ops/multiversion.h"

namespace muster::worker::ops {
namespace {

constexpr float kEpsilon = 1e-5f;
constexpr int64_t kRowGrain = 16;
constexpr int64_t kColumnGrain = 16;

MUSTER_MULTIVERSION void ForwardRow(int64_t channels, const float* __restrict x, const float* __restrict weight,
                                    const float* __restrict bias, float* __restrict y, float* mean, float* rstd) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t c = 0; c < channels; ++c) sum += x[c];
  const float m = sum / static_cast<float>(channels);
  float squares = 0;
#pragma omp simd reduction(+ : squares)
  for (int64_t c = 0; c < channels; ++c) squares += (x[c] - m) * (x[c] - m);
  const float s = 1.0f / std::sqrt(squares / static_cast<float>(channels) + kEpsilon);
  for (int64_t c = 0; c < channels; ++c) y[c] = (x[c] - m) * s * weight[c] + bias[c];
  *mean = m;
  *rstd = s;
}

// With n = (x - mean) * rstd and g = dy * weight: dx = (g - mean(g) - n * mean(g * n)) * rstd.
MUSTER_MULTIVERSION void BackwardRow(int64_t channels, const float* __restrict x, const float* __restrict weight,
                                     float mean, float rstd, const float* __restrict dy, float* __restrict dx) {
  float sum = 0;
  float dot = 0;
#pragma omp simd reduction(+ : sum, dot)
  for (int64_t c = 0; c < channels; ++c) {
    const float g = dy[c] * weight[c];
    sum += g;
    dot += g * (x[c] - mean) * rstd;
  }
  const float mean_g = sum / static_cast<float>(channels);
  const float mean_gn = dot / static_cast<float>(channels);
  for (int64_t c = 0; c < channels; ++c) {
    dx[c] += (dy[c] * weight[c] - mean_g - (x[c] - mean) * rstd * mean_gn) * rstd;
  }
}

// Columns [0, columns) of rows that lie `stride` apart.
MUSTER_MULTIVERSION void BackwardColumns(int64_t rows, int64_t columns, int64_t stride, const float* x,
                                         const float* mean, const float* rstd, const float* dy,
                                         float* __restrict dweight, float* __restrict dbias) {
  for (int64_t r = 0; r < rows; ++r) {
    const float* __restrict x_row = x + r * stride;
    const float* __restrict dy_row = dy + r * stride;
    for (int64_t c = 0; c < columns; ++c) {
      dweight[c] += dy_row[c] * (x_row[c] - mean[r]) * rstd[r];
      dbias[c] += dy_row[c];
    }
  }
}

}  // namespace

void LayerNormForward(ThreadPool& pool, int64_t rows, int64_t channels, const float* x, const float* weight,
                      const float* bias, float* y, float* mean, float* rstd) {
  pool.ParallelFor(rows, kRowGrain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      ForwardRow(channels, x + r * channels, weight, bias, y + r * channels, mean + r, rstd + r);
    }
  });
}

void LayerNormBackward(ThreadPool& pool, int64_t rows, int64_t channels, const float* x, const float* weight,
                       const float* mean, const float* rstd, const float* dy, float* dx, float* dweight, float* dbias) {
  // Sums over rows are split by columns, so that each has one writer and one order whatever the number of threads.
  pool.Run([&](int part, int parts) {
    const Part column = PartOf(channels, kColumnGrain, part, parts);
    BackwardColumns(rows, column.size(), channels, x + column.begin, mean, rstd, dy + column.begin,
                    dweight + column.begin, dbias + column.begin);
    const Part row = PartOf(rows, kRowGrain, part, parts);
    for (int64_t r = row.begin; r < row.end; ++r) {
      BackwardRow(channels, x + r * channels, weight, mean[r], rstd[r], dy + r * channels, dx + r * channels);
    }
  });
}

}  // namespace muster::worker::ops
