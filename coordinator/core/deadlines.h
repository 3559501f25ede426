#ifndef MUSTER_COORDINATOR_CORE_DEADLINES_H_
#define MUSTER_COORDINATOR_CORE_DEADLINES_H_

#include "absl/time/time.h"
#include "coordinator/core/turn.h"

namespace muster::coordinator {

// The earliest thing that time alone will bring about; InfiniteFuture if nothing.
absl::Time EarliestDeadline(const State& state);

// Does what is due at turn.now.
void OnTimePassed(Turn& turn);

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_CORE_DEADLINES_H_
