#ifndef MUSTER_COORDINATOR_CORE_SCENARIOS_EFFECT_PRINTER_H_
#define MUSTER_COORDINATOR_CORE_SCENARIOS_EFFECT_PRINTER_H_

#include <functional>
#include <string>
#include <vector>

#include "coordinator/core/events.h"

namespace muster::coordinator {

// One line an effect, compact and for people, in the order of Effects. `node_of` names a session's node.
std::vector<std::string> PrintEffects(const Effects& effects, const std::function<std::string(SessionId)>& node_of);

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_CORE_SCENARIOS_EFFECT_PRINTER_H_
