#include "worker/shard/shard_plan.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <numeric>

namespace muster::worker {
namespace {

int64_t RoundUp(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

int64_t Elements(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

}  // namespace

ShardPlan::ShardPlan(int world, const std::vector<UnitSpec>& units) : world_(world) {
  assert(world >= 1);
  for (const UnitSpec& unit : units) {
    assert(!unit.tensors.empty());
    const int64_t begin = size_;
    for (const TensorSpec& tensor : unit.tensors) {
      const int64_t start = RoundUp(size_, kTensorAlignment);
      size_ = start + Elements(tensor.shape);
      tensors_.push_back({tensor, static_cast<int>(units_.size()), {start, size_}});
    }
    size_ = begin + RoundUp(size_ - begin, kTensorAlignment * world);
    units_.push_back({unit.name, {begin, size_}});
  }
}

FlatRange ShardPlan::Slice(int unit, int rank) const {
  assert(0 <= rank && rank < world_);
  const FlatRange& range = units_[unit].range;
  const int64_t each = range.size() / world_;
  return {range.begin + rank * each, range.begin + (rank + 1) * each};
}

std::vector<TensorRange> ShardPlan::Intersect(FlatRange range) const {
  std::vector<TensorRange> parts;
  auto tensor = std::partition_point(tensors_.begin(), tensors_.end(),
                                     [&](const Tensor& t) { return t.range.end <= range.begin; });
  for (; tensor != tensors_.end() && tensor->range.begin < range.end; ++tensor) {
    const int64_t begin = std::max(range.begin, tensor->range.begin);
    const int64_t end = std::min(range.end, tensor->range.end);
    // An empty range inside a tensor.
    if (begin >= end) continue;
    parts.push_back({static_cast<int>(tensor - tensors_.begin()), begin - tensor->range.begin, end - begin, begin});
  }
  return parts;
}

}  // namespace muster::worker
