#ifndef MUSTER_COORDINATOR_CORE_GROWTH_H_
#define MUSTER_COORDINATOR_CORE_GROWTH_H_

#include "coordinator/core/turn.h"

namespace muster::coordinator {

// Sets hold_at_checkpoint where free nodes could join a running job, takes it back when they are gone, or notes when
// the cool-down will be over.
void ConsiderGrowth(Turn& turn);

// The workers have stopped at a checkpoint, now committed: the gang ends here and the next generation starts from it
// with whatever nodes there are then. Nothing happens after the last step.
void RegroupAtCheckpoint(Turn& turn, Job& job, int64_t step);

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_CORE_GROWTH_H_
