#ifndef MUSTER_WORKER_MODEL_OPS_LINEAR_H_
#define MUSTER_WORKER_MODEL_OPS_LINEAR_H_

#include <cstdint>

#include "worker/model/ops/thread_pool.h"

namespace muster::worker::ops {

// y[rows, out] = residual + x[rows, in] * weight[in, out] + bias[out]. `residual`, [rows, out], may be null for none;
// it must not be y.
void LinearForward(ThreadPool& pool, int64_t rows, int64_t in, int64_t out, const float* x, const float* weight,
                   const float* bias, const float* residual, float* y);

// dx[rows, in] = dy[rows, out] * weight^T; dweight[in, out] += x^T * dy; dbias[out] += sum of dy's rows.
void LinearBackward(ThreadPool& pool, int64_t rows, int64_t in, int64_t out, const float* x, const float* weight,
                    const float* dy, float* dx, float* dweight, float* dbias);

}  // namespace muster::worker::ops

#endif  // MUSTER_WORKER_MODEL_OPS_LINEAR_H_
