#ifndef MUSTER_WORKER_MODEL_OPS_LAYER_NORM_H_
#define MUSTER_WORKER_MODEL_OPS_LAYER_NORM_H_

#include <cstdint>

#include "worker/model/ops/thread_pool.h"

namespace muster::worker::ops {

// Ba et al., 2016, with epsilon 1e-5: y[rows, channels] = (x - mean) * rstd * weight[channels] + bias[channels], where
// mean[rows] and rstd[rows] = 1 / sqrt(variance + epsilon) of each row of x are kept for the backward pass.
void LayerNormForward(ThreadPool& pool, int64_t rows, int64_t channels, const float* x, const float* weight,
                      const float* bias, float* y, float* mean, float* rstd);

// dx[rows, channels] += gradient of x (+=: x also goes around the layer); dweight[channels] and dbias[channels] +=
// theirs.
void LayerNormBackward(ThreadPool& pool, int64_t rows, int64_t channels, const float* x, const float* weight,
                       const float* mean, const float* rstd, const float* dy, float* dx, float* dweight, float* dbias);

}  // namespace muster::worker::ops

#endif  // MUSTER_WORKER_MODEL_OPS_LAYER_NORM_H_
