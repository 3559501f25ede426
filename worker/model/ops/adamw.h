#ifndef MUSTER_WORKER_MODEL_OPS_ADAMW_H_
#define MUSTER_WORKER_MODEL_OPS_ADAMW_H_

#include <cstdint>

#include "worker/model/ops/thread_pool.h"

namespace muster::worker::ops {

// One update of AdamW (Loshchilov and Hutter, 2019); `step` counts from 1.
struct AdamW {
  float lr;
  float beta1;
  float beta2;
  float eps;
  float weight_decay;
  // Multiplies gradients first: clipping.
  float gradient_scale;
  int64_t step;
};

// Of n elements: parameters and both moments change.
void AdamWUpdate(ThreadPool& pool, const AdamW& update, int64_t n, const float* gradient, float* parameter,
                 float* exp_avg, float* exp_avg_sq);

}  // namespace muster::worker::ops

#endif  // MUSTER_WORKER_MODEL_OPS_ADAMW_H_
