#ifndef MUSTER_COORDINATOR_CORE_SCENARIOS_SCENARIO_H_
#define MUSTER_COORDINATOR_CORE_SCENARIOS_SCENARIO_H_

#include <string>

#include "absl/status/statusor.h"

namespace muster::coordinator {

// Runs a scenario: a text with commands ("> submit a train nodes=2"), comments ("# ..."), and what the core did about
// each command, indented below it. The last part of `text` is ignored; what comes back is the same text with what the
// core really did. docs: README.md beside this file.
//
// INVALID_ARGUMENT: a command that does not exist; names the line.
absl::StatusOr<std::string> RunScenario(const std::string& text);

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_CORE_SCENARIOS_SCENARIO_H_
