#ifndef MUSTER_COORDINATOR_CORE_QUEUE_H_
#define MUSTER_COORDINATOR_CORE_QUEUE_H_

#include "coordinator/core/turn.h"

namespace muster::coordinator {

// Starts the pending jobs that can start, in submitted order; a job that cannot does not hold up those behind it. The
// others get the reason they wait for.
void PlacePending(Turn& turn);
}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_CORE_QUEUE_H_
