#ifndef MUSTER_WORKER_MODEL_OPS_MATMUL_H_
#define MUSTER_WORKER_MODEL_OPS_MATMUL_H_

#include <cstdint>

namespace muster::worker::ops {

// A row-major matrix operand whose rows lie `stride` elements apart; `transposed` uses it as its transpose.
struct Operand {
  const float* data;
  int64_t stride;
  bool transposed = false;
};

// c[m, n] = alpha * a[m, k] * b[k, n] + beta * c, rows of c `stride` apart; on this thread alone. With beta = 0, what c
// held (NaN, too) does not matter. Sizes below 2^31.
void MatMul(int64_t m, int64_t n, int64_t k, float alpha, Operand a, Operand b, float beta, float* c, int64_t stride);

// Makes MatMul use its caller's thread alone, in the whole process: operations spread products over their own threads.
void UseOneThreadPerProduct();

}  // namespace muster::worker::ops

#endif  // MUSTER_WORKER_MODEL_OPS_MATMUL_H_
