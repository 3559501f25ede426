#ifndef MUSTER_WORKER_MODEL_OPS_ATTENTION_H_
#define MUSTER_WORKER_MODEL_OPS_ATTENTION_H_

#include <cstdint>

#include "worker/model/ops/thread_pool.h"

namespace muster::worker::ops {

// Sizes of causal multi-head attention. A head has channels / heads channels.
struct AttentionShape {
  int64_t batch;
  int64_t length;
  int64_t channels;
  int64_t heads;
};

// Elements of the `workspace` that both passes need.
int64_t AttentionWorkspace(const ThreadPool& pool, int64_t length);

// qkv[batch, length, 3, heads, channels / heads] -> y[batch, length, heads, channels / heads]: at each position the
// values up to it, weighted by softmax(query . key / sqrt(channels / heads)). Keeps log_sum[batch, heads, length], the
// log of each softmax's sum of exponentials, so that the backward pass can make the weights again instead of keeping
// length^2 of them (Dao et al., 2022).
void AttentionForward(ThreadPool& pool, const AttentionShape& shape, const float* qkv, float* y, float* log_sum,
                      float* workspace);

// dqkv, of qkv's shape, from dy; y and log_sum are the forward pass's.
void AttentionBackward(ThreadPool& pool, const AttentionShape& shape, const float* qkv, const float* y,
                       const float* log_sum, const float* dy, float* dqkv, float* workspace);

}  // namespace muster::worker::ops

#endif  // MUSTER_WORKER_MODEL_OPS_ATTENTION_H_
