#ifndef MUSTER_WORKER_SHARD_SHARD_PLAN_H_
#define MUSTER_WORKER_SHARD_SHARD_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

namespace muster::worker {

// A tensor of a model: its name and shape, at least one dimension, every one at least 1.
struct TensorSpec {
  std::string name;
  std::vector<int64_t> shape;
};

// Tensors that are communicated together: one transformer block, say.
struct UnitSpec {
  std::string name;
  std::vector<TensorSpec> tensors;
};

// Elements [begin, end) of a flat buffer.
struct FlatRange {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t size() const { return end - begin; }
};

// Elements [start, start + length) of tensors()[tensor]; they lie at [flat, flat + length) of the flat buffer.
struct TensorRange {
  int tensor = 0;
  int64_t start = 0;
  int64_t length = 0;
  int64_t flat = 0;
};

// Where each tensor lies in one flat buffer of fp32 elements, and which part of the buffer each rank owns. Pure.
//
//   unit 0                               unit 1
//   | tensor | pad | tensor |   pad   |  | tensor | ...
//   | rank 0    | rank 1    | rank 2  |  | rank 0 | ...
//
// Each tensor begins at a multiple of kTensorAlignment elements. Each unit is padded to a multiple of kTensorAlignment
// * world, so that its `world` slices are equal and begin aligned. Padding belongs to no tensor and holds zeros.
//
// A rank's slices of all units, laid one after another, are its shard: what it keeps of a buffer that is sharded. The
// slice of a unit at `begin` starts at begin / world of the shard.
class ShardPlan {
 public:
  static constexpr int64_t kTensorAlignment = 64;

  struct Tensor {
    TensorSpec spec;
    int unit = 0;
    FlatRange range;
  };
  struct Unit {
    std::string name;
    FlatRange range;
  };

  // world >= 1; every unit has a tensor.
  ShardPlan(int world, const std::vector<UnitSpec>& units);

  int world() const { return world_; }
  // Elements of the flat buffer, padding included; a multiple of world().
  int64_t size() const { return size_; }
  int64_t shard_size() const { return size_ / world_; }
  const std::vector<Tensor>& tensors() const { return tensors_; }
  const std::vector<Unit>& units() const { return units_; }

  // What `rank` owns of a unit.
  FlatRange Slice(int unit, int rank) const;
  // Where that slice begins in the rank's shard.
  int64_t ShardOffset(int unit) const { return units_[unit].range.begin / world_; }

  // The parts of tensors within `range`, in flat order; padding is left out.
  std::vector<TensorRange> Intersect(FlatRange range) const;

 private:
  int world_;
  int64_t size_ = 0;
  std::vector<Tensor> tensors_;
  std::vector<Unit> units_;
};

}  // namespace muster::worker

#endif  // MUSTER_WORKER_SHARD_SHARD_PLAN_H_
