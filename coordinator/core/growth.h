#ifndef MUSTER_COORDINATOR_CORE_GROWTH_H_
#define MUSTER_COORDINATOR_CORE_GROWTH_H_

#include "coordinator/core/turn.h"

namespace muster::coordinator {

// Sets hold_at_checkpoint where a free node could join a running job, or notes when the cool-down will be over.
void ConsiderGrowth(Turn& turn);

// A checkpoint was committed: with a hold, the gang ends here and the next generation starts from it.
void GrowAtCheckpoint(Turn& turn, Job& job, int64_t step);

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_CORE_GROWTH_H_
