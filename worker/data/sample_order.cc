#include "worker/data/sample_order.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace muster::worker {
namespace {

// Four rounds make a Feistel network a strong pseudo-random permutation when halves are large; small domains need more.
constexpr int kRounds = 8;
constexpr uint64_t kGolden = 0x9E3779B97F4A7C15;

// The finalizer of SplitMix64 (Steele, Lea and Flood, 2014): a bijection of 64 bits in which every input bit reaches
// every output bit.
uint64_t Mix(uint64_t x) {
  x += kGolden;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

uint64_t Feistel(uint64_t key, int half_bits, uint64_t value) {
  const uint64_t mask = (uint64_t{1} << half_bits) - 1;
  uint64_t left = value >> half_bits;
  uint64_t right = value & mask;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t round_key = key + kGolden * (round + 1);
    const uint64_t next = left ^ (Mix(right ^ Mix(round_key)) & mask);
    left = right;
    right = next;
  }
  return left << half_bits | right;
}

}  // namespace

SampleOrder::SampleOrder(uint64_t seed, uint64_t samples)
    : seed_(seed), samples_(samples), half_bits_(std::max(1, (static_cast<int>(std::bit_width(samples - 1)) + 1) / 2)) {
  assert(samples >= 1);
}

uint64_t SampleOrder::IdAt(uint64_t position) const {
  const uint64_t epoch = position / samples_;
  const uint64_t key = Mix(Mix(seed_) ^ epoch);
  uint64_t id = position % samples_;
  // Ends: the network permutes its domain, so the cycle through `id` comes back to `id`, which is below samples_.
  do {
    id = Feistel(key, half_bits_, id);
  } while (id >= samples_);
  return id;
}

MicroBatchRange MicroBatchesOfRank(int64_t micro_batches, int rank, int world_size) {
  assert(0 <= rank && rank < world_size);
  const int64_t each = micro_batches / world_size;
  const int64_t one_more = micro_batches % world_size;
  return {.first = each * rank + std::min<int64_t>(rank, one_more), .count = each + (rank < one_more ? 1 : 0)};
}

}  // namespace muster::worker
