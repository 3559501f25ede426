#ifndef MUSTER_WORKER_MODEL_OPS_HEAD_H_
#define MUSTER_WORKER_MODEL_OPS_HEAD_H_

#include <cstdint>

#include "worker/model/ops/thread_pool.h"

namespace muster::worker::ops {

// The head that is tied to the token table: logits[rows, vocab] = x[rows, channels] * table[vocab, channels]^T. The
// logits exist for a chunk of rows at a time only; `workspace` holds HeadWorkspace(rows, vocab) elements.
int64_t HeadWorkspace(int64_t rows, int64_t vocab);

// losses[rows]: the cross entropy of each row with targets[rows].
void HeadLosses(ThreadPool& pool, int64_t rows, int64_t channels, int64_t vocab, const float* x, const float* table,
                const int32_t* targets, float* losses, float* workspace);

// The same, and the gradients of scale * sum(losses): dx[rows, channels] is set, dtable[vocab, channels] added to.
void HeadLossesAndGradients(ThreadPool& pool, int64_t rows, int64_t channels, int64_t vocab, const float* x,
                            const float* table, const int32_t* targets, float scale, float* losses, float* dx,
                            float* dtable, float* workspace);

// logits[rows, vocab], whole.
void HeadLogits(ThreadPool& pool, int64_t rows, int64_t channels, int64_t vocab, const float* x, const float* table,
                float* logits);

}  // namespace muster::worker::ops

#endif  // MUSTER_WORKER_MODEL_OPS_HEAD_H_
