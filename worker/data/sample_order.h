#ifndef MUSTER_WORKER_DATA_SAMPLE_ORDER_H_
#define MUSTER_WORKER_DATA_SAMPLE_ORDER_H_

#include <cstdint>

namespace muster::worker {

// The sample at each position of training, a pure function of {seed, samples an epoch, position}: epoch = position /
// samples, and within an epoch a keyed permutation of [0, samples), so each sample comes exactly once an epoch. Neither
// rank nor world size enters.
//
// The permutation is a balanced Feistel network (Luby and Rackoff, 1988) on the least even number of bits that holds
// `samples`, walked along its cycle until it lands below `samples` (Black and Rogaway, "Ciphers with Arbitrary Finite
// Domains", 2002): less than four evaluations on average, no memory. Part of the checkpoint's meaning: a change of it
// changes the order of every resumed job.
class SampleOrder {
 public:
  // samples >= 1.
  SampleOrder(uint64_t seed, uint64_t samples);
  uint64_t IdAt(uint64_t position) const;

 private:
  uint64_t seed_;
  uint64_t samples_;
  // Half the bits of the network's domain, 1..32.
  int half_bits_;
};

// Micro-batches [first, first + count) of a step for one rank: as even as it gets, in rank order, all covered once.
// With more ranks than micro-batches the last ranks have none. 0 <= rank < world_size.
struct MicroBatchRange {
  int64_t first = 0;
  int64_t count = 0;
};
MicroBatchRange MicroBatchesOfRank(int64_t micro_batches, int rank, int world_size);

}  // namespace muster::worker

#endif  // MUSTER_WORKER_DATA_SAMPLE_ORDER_H_
