#ifndef MUSTER_AGENT_RUNTIME_STRAYS_H_
#define MUSTER_AGENT_RUNTIME_STRAYS_H_

#include <string>

#include "agent/core/types.h"

namespace muster::agent {

// Kills what is left of a worker whose shim was killed: processes that have its job, generation and rank and this
// agent's socket in their environment. (Its pids tell nothing then: they may belong to others by now.) Returns how many
// were found; ask again until none is.
int KillStrays(const WorkerKey& worker, const std::string& socket_path);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_RUNTIME_STRAYS_H_
