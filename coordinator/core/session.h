#ifndef MUSTER_COORDINATOR_CORE_SESSION_H_
#define MUSTER_COORDINATOR_CORE_SESSION_H_

#include "coordinator/core/turn.h"

namespace muster::coordinator {

void OnConnected(Turn& turn, const AgentConnected& event);
void OnSaid(Turn& turn, const AgentSaid& event);
void OnDisconnected(Turn& turn, const AgentDisconnected& event);

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_CORE_SESSION_H_
