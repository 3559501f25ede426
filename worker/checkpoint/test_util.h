#ifndef MUSTER_WORKER_CHECKPOINT_TEST_UTIL_H_
#define MUSTER_WORKER_CHECKPOINT_TEST_UTIL_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/file_system.h"
#include "proto/checkpoint.pb.h"
#include "worker/checkpoint/checkpoint.h"

namespace muster::worker {

// A small model's state in memory, sliced over ranks in the ways a trainer does.
class FakeState {
 public:
  using Shapes = std::vector<std::pair<std::string, std::vector<int64_t>>>;
  // A few tensors of awkward sizes: a scalar, primes, one longer than a piece.
  static Shapes AwkwardShapes();

  // Every element different, and none zero; depends on `seed`. Seed 0: all zero.
  FakeState(const Shapes& shapes, uint32_t seed);

  // What rank `rank` of `world` saves: whole tensors "param/..." on rank 0 alone, everything else cut evenly over ranks
  // in order, without a look at tensors' borders.
  std::vector<TensorSlice> SlicesOf(int rank, int world);
  // Every tensor, whole.
  std::vector<TensorSlice> All();

  // Compares bytes: not-a-numbers are equal to themselves here.
  bool operator==(const FakeState& other) const;

 private:
  Shapes shapes_;
  std::vector<std::vector<float>> data_;
};

v1::CheckpointManifest TestHeader(const std::string& job_uid);

// Saves as all ranks of `world` and merges their reports.
absl::StatusOr<v1::CheckpointManifest> SaveAll(FileSystem* fs, const std::string& job_dir, int64_t step,
                                               uint64_t generation, int world, FakeState* state,
                                               const std::string& job_uid = "uid-a");

}  // namespace muster::worker

#endif  // MUSTER_WORKER_CHECKPOINT_TEST_UTIL_H_
