#ifndef MUSTER_COORDINATOR_CORE_PROGRESS_H_
#define MUSTER_COORDINATOR_CORE_PROGRESS_H_

#include "coordinator/core/turn.h"

namespace muster::coordinator {

// Steps of the current generation, from rank 0's node: stored, then acknowledged. Steps that were stored already are
// acknowledged again.
void OnProgress(Turn& turn, Job& job, const NodeId& node, const v1::Progress& progress);

// The newest step that `generation` has stored; 0 if none.
int64_t NewestStepOf(const Job& job, uint64_t generation);

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_CORE_PROGRESS_H_
