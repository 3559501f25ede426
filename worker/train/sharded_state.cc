#include "worker/train/sharded_state.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "worker/model/ops/norm.h"

namespace muster::worker {

ShardedState::ShardedState(const std::vector<UnitSpec>& units, v1::Sharding sharding, Communicator* comm,
                           ops::ThreadPool* pool)
    : sharding_(sharding),
      comm_(comm),
      pool_(pool),
      plan_(comm->size(), units),
      parameters_(plan_.size()),
      gradients_(plan_.size()),
      exp_avg_(sharding == v1::NONE ? plan_.size() : plan_.shard_size()),
      exp_avg_sq_(exp_avg_.size()),
      updates_(PlanUpdates()) {}

void ShardedState::ZeroGradients() {
  pool_->ParallelFor(gradients_.size(), ShardPlan::kTensorAlignment, [this](int64_t begin, int64_t end) {
    std::fill(gradients_.data() + begin, gradients_.data() + end, 0.0f);
  });
}

bool ShardedState::GradientsAreFinite() {
  return std::isfinite(ops::SumOfSquares(*pool_, gradients_.size(), gradients_.data()));
}

absl::Status ShardedState::SumGradients() {
  for (int unit = 0; unit < static_cast<int>(plan_.units().size()); ++unit) {
    const FlatRange all = plan_.units()[unit].range;
    float* const begin = gradients_.data() + all.begin;
    if (sharding_ == v1::NONE) {
      MUSTER_RETURN_IF_ERROR(comm_->AllReduceSum({begin, all.size()}));
    } else {
      const FlatRange owned = Owned(unit);
      MUSTER_RETURN_IF_ERROR(
          comm_->ReduceScatterSum({begin, all.size()}, {gradients_.data() + owned.begin, owned.size()}));
    }
  }
  return absl::OkStatus();
}

double ShardedState::OwnedGradientSquares() {
  double squares = 0;
  for (int unit = 0; unit < static_cast<int>(plan_.units().size()); ++unit) {
    const FlatRange owned = Owned(unit);
    squares += ops::SumOfSquares(*pool_, owned.size(), gradients_.data() + owned.begin);
  }
  return squares;
}

void ShardedState::Update(ops::AdamW update) {
  const float weight_decay = update.weight_decay;
  for (const UpdateRange& range : updates_) {
    update.weight_decay = range.decays ? weight_decay : 0;
    ops::AdamWUpdate(*pool_, update, range.length, gradients_.data() + range.flat, parameters_.data() + range.flat,
                     exp_avg_.data() + range.moment, exp_avg_sq_.data() + range.moment);
  }
}

absl::Status ShardedState::GatherParameters() { return sharding_ == v1::NONE ? absl::OkStatus() : Gather(parameters_); }

std::vector<TensorSlice> ShardedState::OwnedSlices() {
  std::vector<TensorSlice> slices;
  for (int unit = 0; unit < static_cast<int>(plan_.units().size()); ++unit) {
    const FlatRange owned = Owned(unit);
    for (const TensorRange& part : plan_.Intersect(owned)) {
      const TensorSpec& tensor = plan_.tensors()[part.tensor].spec;
      const int64_t moment = MomentOffset(unit, owned) + part.flat - owned.begin;
      const auto add = [&](const char* prefix, float* data) {
        slices.push_back({absl::StrCat(prefix, tensor.name), tensor.shape, part.start,
                          absl::MakeSpan(data, static_cast<size_t>(part.length))});
      };
      add("param/", parameters_.data() + part.flat);
      add("exp_avg/", exp_avg_.data() + moment);
      add("exp_avg_sq/", exp_avg_sq_.data() + moment);
    }
  }
  return slices;
}

absl::Status ShardedState::GatherAll() {
  MUSTER_RETURN_IF_ERROR(Gather(parameters_));
  if (sharding_ != v1::NONE) return absl::OkStatus();
  MUSTER_RETURN_IF_ERROR(Gather(exp_avg_));
  return Gather(exp_avg_sq_);
}

int64_t ShardedState::MomentOffset(int unit, FlatRange owned) const {
  return sharding_ == v1::NONE ? owned.begin : plan_.ShardOffset(unit);
}

std::vector<ShardedState::UpdateRange> ShardedState::PlanUpdates() const {
  std::vector<UpdateRange> updates;
  for (int unit = 0; unit < static_cast<int>(plan_.units().size()); ++unit) {
    const FlatRange range = sharding_ == v1::NONE ? plan_.units()[unit].range : Owned(unit);
    for (const TensorRange& part : plan_.Intersect(range)) {
      updates.push_back({.flat = part.flat,
                         .moment = MomentOffset(unit, range) + part.flat - range.begin,
                         .length = part.length,
                         .decays = plan_.tensors()[part.tensor].spec.shape.size() >= 2});
    }
  }
  return updates;
}

absl::Status ShardedState::Gather(ops::Buffer& whole) {
  for (int unit = 0; unit < static_cast<int>(plan_.units().size()); ++unit) {
    const FlatRange all = plan_.units()[unit].range;
    const FlatRange owned = Owned(unit);
    MUSTER_RETURN_IF_ERROR(
        comm_->AllGather({whole.data() + owned.begin, owned.size()}, {whole.data() + all.begin, all.size()}));
  }
  return absl::OkStatus();
}

}  // namespace muster::worker
