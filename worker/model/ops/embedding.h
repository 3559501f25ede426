#ifndef MUSTER_WORKER_MODEL_OPS_EMBEDDING_H_
#define MUSTER_WORKER_MODEL_OPS_EMBEDDING_H_

#include <cstdint>

#include "worker/model/ops/thread_pool.h"

namespace muster::worker::ops {

// x[batch, length, channels] = tokens_table[token] + positions_table[position]. tokens[batch, length], each a row of
// tokens_table[vocab, channels]; positions_table[context, channels], length <= context.
void EmbeddingForward(ThreadPool& pool, int64_t batch, int64_t length, int64_t channels, const int32_t* tokens,
                      const float* tokens_table, const float* positions_table, float* x);

// Adds dx[batch, length, channels] to the rows of both gradients that x was made of.
void EmbeddingBackward(ThreadPool& pool, int64_t batch, int64_t length, int64_t channels, const int32_t* tokens,
                       const float* dx, float* dtokens_table, float* dpositions_table);

}  // namespace muster::worker::ops

#endif  // MUSTER_WORKER_MODEL_OPS_EMBEDDING_H_
