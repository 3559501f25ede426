#ifndef MUSTER_WORKER_MODEL_OPS_CROSS_ENTROPY_H_
#define MUSTER_WORKER_MODEL_OPS_CROSS_ENTROPY_H_

#include <cstdint>

#include "worker/model/ops/thread_pool.h"

namespace muster::worker::ops {

// losses[rows] = -log softmax(logits)[target]; logits[rows, vocab] become `scale` times their gradient in place.
// targets[rows] in [0, vocab). A loss is NaN or infinite if a logit is.
void SoftmaxCrossEntropy(ThreadPool& pool, int64_t rows, int64_t vocab, const int32_t* targets, float scale,
                         float* logits, float* losses);

}  // namespace muster::worker::ops

#endif  // MUSTER_WORKER_MODEL_OPS_CROSS_ENTROPY_H_
