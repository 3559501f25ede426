#ifndef MUSTER_WORKER_TRAIN_SHARDED_STATE_H_
#define MUSTER_WORKER_TRAIN_SHARDED_STATE_H_

#include <vector>

#include "absl/status/status.h"
#include "proto/job.pb.h"
#include "worker/checkpoint/tensor_slice.h"
#include "worker/comm/communicator.h"
#include "worker/model/ops/adamw.h"
#include "worker/model/ops/buffer.h"
#include "worker/model/ops/thread_pool.h"
#include "worker/shard/shard_plan.h"

namespace muster::worker {

// One rank's parameters, gradients and optimizer state, and how they travel between ranks. Every rank owns its slices
// of a ShardPlan at the communicator's size. Parameters and gradients are whole on every rank; the moments are
//   ZERO1  a shard: those of the owned slices, which this rank updates (ZeRO stage 1: Rajbhandari et al., 2020);
//   NONE   whole: every rank updates everything.
// Methods that return a Status call collectives; errors are the communicator's.
class ShardedState {
 public:
  // Borrows comm and pool.
  ShardedState(const std::vector<UnitSpec>& units, v1::Sharding sharding, Communicator* comm, ops::ThreadPool* pool);

  const ShardPlan& plan() const { return plan_; }
  // Flat buffers of plan().size() elements.
  float* parameters() { return parameters_.data(); }
  float* gradients() { return gradients_.data(); }

  void ZeroGradients();

  // Whether all gradients are finite; before SumGradients: this rank's own.
  bool GradientsAreFinite();

  // Sums gradients over ranks. ZERO1: only the owned slices hold the sum afterwards, the rest is undefined.
  absl::Status SumGradients();

  // Over the owned slices: summed over ranks, of all gradients.
  double OwnedGradientSquares();

  // Updates what this rank keeps moments of. Matrices decay by update.weight_decay, vectors do not.
  void Update(ops::AdamW update);

  // Makes parameters whole again after Update.
  absl::Status GatherParameters();

  // The owned slices: "param/", "exp_avg/" and "exp_avg_sq/" and the tensor's name.
  std::vector<TensorSlice> OwnedSlices();

  // After the owned slices were written to: makes whole again what is whole on every rank.
  absl::Status GatherAll();

 private:
  // Elements that one update covers: all of one tensor, so that they decay alike.
  struct UpdateRange {
    int64_t flat = 0;
    // In the moments' buffers.
    int64_t moment = 0;
    int64_t length = 0;
    bool decays = false;
  };

  FlatRange Owned(int unit) const { return plan_.Slice(unit, comm_->rank()); }
  // Where the moments of flat elements from `owned`.begin on lie.
  int64_t MomentOffset(int unit, FlatRange owned) const;
  std::vector<UpdateRange> PlanUpdates() const;
  // Every rank's slices of a whole buffer to all ranks.
  absl::Status Gather(ops::Buffer& whole);

  const v1::Sharding sharding_;
  Communicator* const comm_;
  ops::ThreadPool* const pool_;
  const ShardPlan plan_;
  ops::Buffer parameters_;
  ops::Buffer gradients_;
  ops::Buffer exp_avg_;
  ops::Buffer exp_avg_sq_;
  const std::vector<UpdateRange> updates_;
};

}  // namespace muster::worker

#endif  // MUSTER_WORKER_TRAIN_SHARDED_STATE_H_
