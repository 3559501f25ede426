#ifndef MUSTER_COORDINATOR_CORE_DESIRED_H_
#define MUSTER_COORDINATOR_CORE_DESIRED_H_

#include "coordinator/core/state.h"

namespace muster::coordinator {

// Everything that should be on the node, without the revision.
v1::DesiredState DesiredStateOf(const State& state, const NodeId& node);

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_CORE_DESIRED_H_
