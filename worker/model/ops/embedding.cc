#include "worker/model/ops/embedding.h"

#include "worker/model/ops/multiversion.h"

namespace muster::worker::ops {
namespace {

constexpr int64_t kRowGrain = 16;
constexpr int64_t kColumnGrain = 16;

MUSTER_MULTIVERSION void Sum(int64_t n, const float* a, const float* b, float* __restrict sum) {
  for (int64_t i = 0; i < n; ++i) sum[i] = a[i] + b[i];
}

MUSTER_MULTIVERSION void AddTo(int64_t n, const float* x, float* __restrict a, float* __restrict b) {
  for (int64_t i = 0; i < n; ++i) {
    a[i] += x[i];
    b[i] += x[i];
  }
}

}  // namespace

void EmbeddingForward(ThreadPool& pool, int64_t batch, int64_t length, int64_t channels, const int32_t* tokens,
                      const float* tokens_table, const float* positions_table, float* x) {
  pool.ParallelFor(batch * length, kRowGrain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      Sum(channels, tokens_table + tokens[r] * channels, positions_table + r % length * channels, x + r * channels);
    }
  });
}

void EmbeddingBackward(ThreadPool& pool, int64_t batch, int64_t length, int64_t channels, const int32_t* tokens,
                       const float* dx, float* dtokens_table, float* dpositions_table) {
  // A token may come many times: threads split the channels, so that a sum has one writer and one order.
  pool.ParallelFor(channels, kColumnGrain, [&](int64_t begin, int64_t end) {
    for (int64_t r = 0; r < batch * length; ++r) {
      AddTo(end - begin, dx + r * channels + begin, dtokens_table + tokens[r] * channels + begin,
            dpositions_table + r % length * channels + begin);
    }
  });
}

}  // namespace muster::worker::ops
