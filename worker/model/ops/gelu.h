#ifndef MUSTER_WORKER_MODEL_OPS_GELU_H_
#define MUSTER_WORKER_MODEL_OPS_GELU_H_

#include <cstdint>

#include "worker/model/ops/thread_pool.h"

namespace muster::worker::ops {

// y[n] = gelu(x), the tanh form of Hendrycks and Gimpel (2016): x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))).
void GeluForward(ThreadPool& pool, int64_t n, const float* x, float* y);

// dy[n] becomes dx = gelu'(x) * dy.
void GeluBackward(ThreadPool& pool, int64_t n, const float* x, float* dy);

}  // namespace muster::worker::ops

#endif  // MUSTER_WORKER_MODEL_OPS_GELU_H_
