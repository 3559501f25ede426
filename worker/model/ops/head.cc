#include "worker/model/ops/head.h"

#include <algorithm>

#include "worker/model/ops/cross_entropy.h"
#include "worker/model/ops/matmul.h"

namespace muster::worker::ops {
namespace {

// 2^20 logits at a time (4 MiB), but rows enough for a good product.
constexpr int64_t kChunkElements = 1 << 20;
constexpr int64_t kLeastChunkRows = 64;
constexpr int64_t kGrain = 16;

int64_t ChunkRows(int64_t rows, int64_t vocab) {
  return std::min(rows, std::max(kLeastChunkRows, kChunkElements / vocab));
}

// dtable[vocab, channels] += dlogits[rows, vocab]^T * x; dx = dlogits * table.
void ChunkBackward(ThreadPool& pool, int64_t rows, int64_t channels, int64_t vocab, const float* x, const float* table,
                   const float* dlogits, float* dx, float* dtable) {
  pool.Run([&](int part, int parts) {
    const Part row = PartOf(rows, kGrain, part, parts);
    MatMul(row.size(), channels, vocab, 1, {dlogits + row.begin * vocab, vocab}, {table, channels}, 0,
           dx + row.begin * channels, channels);
    const Part token = PartOf(vocab, kGrain, part, parts);
    MatMul(token.size(), channels, rows, 1, {dlogits + token.begin, vocab, true}, {x, channels}, 1,
           dtable + token.begin * channels, channels);
  });
}

}  // namespace

int64_t HeadWorkspace(int64_t rows, int64_t vocab) { return ChunkRows(rows, vocab) * vocab; }

void HeadLogits(ThreadPool& pool, int64_t rows, int64_t channels, int64_t vocab, const float* x, const float* table,
                float* logits) {
  // A few rows (sampling) are split by tokens, many by rows.
  pool.Run([&](int part, int parts) {
    const Part row = rows >= vocab ? PartOf(rows, kGrain, part, parts) : Part{0, rows};
    const Part token = rows >= vocab ? Part{0, vocab} : PartOf(vocab, kGrain, part, parts);
    MatMul(row.size(), token.size(), channels, 1, {x + row.begin * channels, channels},
           {table + token.begin * channels, channels, true}, 0, logits + row.begin * vocab + token.begin, vocab);
  });
}

void HeadLosses(ThreadPool& pool, int64_t rows, int64_t channels, int64_t vocab, const float* x, const float* table,
                const int32_t* targets, float* losses, float* workspace) {
  const int64_t chunk = ChunkRows(rows, vocab);
  for (int64_t begin = 0; begin < rows; begin += chunk) {
    const int64_t count = std::min(chunk, rows - begin);
    HeadLogits(pool, count, channels, vocab, x + begin * channels, table, workspace);
    SoftmaxCrossEntropy(pool, count, vocab, targets + begin, 0, workspace, losses + begin);
  }
}

void HeadLossesAndGradients(ThreadPool& pool, int64_t rows, int64_t channels, int64_t vocab, const float* x,
                            const float* table, const int32_t* targets, float scale, float* losses, float* dx,
                            float* dtable, float* workspace) {
  const int64_t chunk = ChunkRows(rows, vocab);
  for (int64_t begin = 0; begin < rows; begin += chunk) {
    const int64_t count = std::min(chunk, rows - begin);
    HeadLogits(pool, count, channels, vocab, x + begin * channels, table, workspace);
    SoftmaxCrossEntropy(pool, count, vocab, targets + begin, scale, workspace, losses + begin);
    ChunkBackward(pool, count, channels, vocab, x + begin * channels, table, workspace, dx + begin * channels, dtable);
  }
}

}  // namespace muster::worker::ops
