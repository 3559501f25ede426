#ifndef MUSTER_COORDINATOR_CORE_SUBMIT_H_
#define MUSTER_COORDINATOR_CORE_SUBMIT_H_

#include "coordinator/core/turn.h"

namespace muster::coordinator {

void OnSubmit(Turn& turn, const ClientSubmitted& event);
void OnCancel(Turn& turn, const ClientCancelled& event);

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_CORE_SUBMIT_H_
