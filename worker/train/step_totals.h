#ifndef MUSTER_WORKER_TRAIN_STEP_TOTALS_H_
#define MUSTER_WORKER_TRAIN_STEP_TOTALS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/comm/communicator.h"

namespace muster::worker {

// What one rank adds to a step's figures.
struct StepPart {
  double loss = 0;  // its part of the mean
  bool gradients_finite = true;
  double gradient_squares = 0;  // of the gradients it owns, summed over ranks
  bool flag = false;
};

// The figures of a step over all ranks.
struct StepTotals {
  double loss = 0;
  double grad_norm = 0;
  bool flag = false;
};

// One small all-reduce. FAILED_PRECONDITION on all ranks when a rank's loss or gradients are not finite; names `step`,
// the rank and what it is. Otherwise errors are the communicator's.
absl::StatusOr<StepTotals> SumOverRanks(Communicator* comm, int64_t step, const StepPart& part);

}  // namespace muster::worker

#endif  // MUSTER_WORKER_TRAIN_STEP_TOTALS_H_
