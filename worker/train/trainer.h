#ifndef MUSTER_WORKER_TRAIN_TRAINER_H_
#define MUSTER_WORKER_TRAIN_TRAINER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/agent.pb.h"
#include "proto/job.pb.h"
#include "worker/checkpoint/tensor_slice.h"
#include "worker/comm/communicator.h"
#include "worker/data/token_dataset.h"

namespace muster::worker {

struct StepResult {
  int64_t step = 0;  // steps done, this one included
  double loss = 0;   // mean over the tokens of the global batch, the same on every rank
  double grad_norm = 0;
  double lr = 0;
  int64_t tokens = 0;  // of the global batch
  // Whether any rank passed flag = true; the same on every rank.
  bool flag = false;
};

// One rank of the native trainer. A step reads on one screen: gradients of this rank's micro-batches, reduce-scatter,
// global norm, AdamW on this rank's shard, all-gather. Calls only collectives that all ranks call too.
//
// Errors: the communicator's and the dataset's, and FAILED_PRECONDITION when loss or gradients are not finite.
class Trainer {
 public:
  // `spec` has its defaults and is valid. Weights are initialised from spec.seed, by the position of each element, so
  // every world size starts from the same ones. `threads`: what a step's work is spread over, the caller's included;
  // the same bits again need the same number. INVALID_ARGUMENT for fewer than one; RESOURCE_EXHAUSTED when the model
  // does not fit into memory. Borrows comm and data.
  static absl::StatusOr<std::unique_ptr<Trainer>> Create(const v1::TrainSpec& spec, Communicator* comm,
                                                         const TokenDataset* data, int threads);
  virtual ~Trainer() = default;

  // Optimizer steps done.
  virtual int64_t step() const = 0;

  // One optimizer step. `flag` is summed over ranks along with the loss, so that all ranks learn of it at one step.
  virtual absl::StatusOr<StepResult> Step(bool flag) = 0;

  // Mean loss over `batches` micro-batches of `val` from its beginning, spread over ranks; the same on every rank.
  virtual absl::StatusOr<double> Evaluate(const TokenDataset& val, int batches) = 0;

  // Text from this rank's weights; no communication. Deterministic in (seed, step).
  virtual absl::StatusOr<std::string> Sample(const v1::SampleSpec& sample) = 0;

  // This rank's part of the state (parameters and both moments), valid until the next Step. All ranks' slices cover
  // every tensor once. Before the first Step after LoadState it is what was loaded, bit for bit.
  virtual std::vector<TensorSlice> StateSlices() = 0;

  // After StateSlices() were filled from a checkpoint of `step`: takes them over (all-gathers the parameters).
  virtual absl::Status FinishLoad(int64_t step) = 0;

  // Ids used by this rank in the last Step, by position: for the audit log.
  struct UsedSample {
    uint64_t position;
    uint64_t id;
  };
  virtual absl::Span<const UsedSample> last_samples() const = 0;
};

}  // namespace muster::worker

#endif  // MUSTER_WORKER_TRAIN_TRAINER_H_
