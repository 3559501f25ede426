#include "worker/train/step_totals.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_format.h"
#include "common/status_macros.h"

namespace muster::worker {
namespace {

// What each rank has to itself in the sum, so that one that is not finite is known from the others.
enum Field { kLoss, kBadGradients, kSquares, kFlag, kFields };

constexpr char kRemedy[] = "no weight was changed; lower schedule.lr, or set optimizer.clip, and resume";

}  // namespace

absl::StatusOr<StepTotals> SumOverRanks(Communicator* comm, int64_t step, const StepPart& part) {
  std::vector<float> fields(static_cast<size_t>(comm->size()) * kFields);
  float* const own = fields.data() + static_cast<ptrdiff_t>(comm->rank()) * kFields;
  own[kLoss] = static_cast<float>(part.loss);
  own[kBadGradients] = part.gradients_finite ? 0 : 1;
  own[kSquares] = static_cast<float>(part.gradient_squares);
  own[kFlag] = part.flag ? 1 : 0;
  MUSTER_RETURN_IF_ERROR(comm->AllReduceSum({fields.data(), static_cast<int64_t>(fields.size())}));

  StepTotals totals;
  double squares = 0;
  for (int rank = 0; rank < comm->size(); ++rank) {
    const float* const of_rank = fields.data() + static_cast<ptrdiff_t>(rank) * kFields;
    if (!std::isfinite(of_rank[kLoss])) {
      return absl::FailedPreconditionError(
          absl::StrFormat("step %d: the loss of rank %d is not finite (%g): %s", step, rank, of_rank[kLoss], kRemedy));
    }
    if (of_rank[kBadGradients] != 0) {
      return absl::FailedPreconditionError(
          absl::StrFormat("step %d: gradients of rank %d are not finite: %s", step, rank, kRemedy));
    }
    totals.loss += of_rank[kLoss];
    squares += of_rank[kSquares];
    totals.flag = totals.flag || of_rank[kFlag] != 0;
  }
  if (!std::isfinite(squares)) {
    return absl::FailedPreconditionError(
        absl::StrFormat("step %d: the norm of the gradients summed over ranks is not finite: %s", step, kRemedy));
  }
  totals.grad_norm = std::sqrt(squares);
  return totals;
}

}  // namespace muster::worker
