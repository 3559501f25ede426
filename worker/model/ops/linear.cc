#include "worker/model/ops/linear.h"

#include <algorithm>

#include "worker/model/ops/matmul.h"
#include "worker/model/ops/multiversion.h"

namespace muster::worker::ops {
namespace {

// Multiples of the tiles that BLAS kernels work in.
constexpr int64_t kRowGrain = 16;
constexpr int64_t kColumnGrain = 16;

MUSTER_MULTIVERSION void Add(int64_t n, const float* a, const float* b, float* sum) {
  for (int64_t i = 0; i < n; ++i) sum[i] = a[i] + b[i];
}

// sum[0, columns) += the rows of x, which lie `stride` apart.
MUSTER_MULTIVERSION void AddRows(int64_t rows, int64_t columns, const float* x, int64_t stride, float* sum) {
  for (int64_t r = 0; r < rows; ++r) {
    const float* row = x + r * stride;
    for (int64_t c = 0; c < columns; ++c) sum[c] += row[c];
  }
}

}  // namespace

void LinearForward(ThreadPool& pool, int64_t rows, int64_t in, int64_t out, const float* x, const float* weight,
                   const float* bias, const float* residual, float* y) {
  pool.ParallelFor(rows, kRowGrain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      if (residual == nullptr) {
        std::copy_n(bias, out, y + r * out);
      } else {
        Add(out, residual + r * out, bias, y + r * out);
      }
    }
    MatMul(end - begin, out, in, 1, {x + begin * in, in}, {weight, out}, 1, y + begin * out, out);
  });
}

void LinearBackward(ThreadPool& pool, int64_t rows, int64_t in, int64_t out, const float* x, const float* weight,
                    const float* dy, float* dx, float* dweight, float* dbias) {
  // The three results do not depend on one another: a thread makes its part of each, with no wait between them.
  pool.Run([&](int part, int parts) {
    const Part row = PartOf(rows, kRowGrain, part, parts);
    MatMul(row.size(), in, out, 1, {dy + row.begin * out, out}, {weight, out, true}, 0, dx + row.begin * in, in);
    if (in >= out) {
      const Part i = PartOf(in, kRowGrain, part, parts);
      MatMul(i.size(), out, rows, 1, {x + i.begin, in, true}, {dy, out}, 1, dweight + i.begin * out, out);
    } else {
      const Part o = PartOf(out, kColumnGrain, part, parts);
      MatMul(in, o.size(), rows, 1, {x, in, true}, {dy + o.begin, out}, 1, dweight + o.begin, out);
    }
    const Part o = PartOf(out, kColumnGrain, part, parts);
    AddRows(rows, o.size(), dy + o.begin, out, dbias + o.begin);
  });
}

}  // namespace muster::worker::ops
