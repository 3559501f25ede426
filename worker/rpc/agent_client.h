#ifndef MUSTER_WORKER_RPC_AGENT_CLIENT_H_
#define MUSTER_WORKER_RPC_AGENT_CLIENT_H_

#include <memory>
#include <string>

#include "worker/runtime/agent_link.h"

namespace muster::worker {

// WorkerService of the agent that listens on the Unix socket at `path`. Needs no agent to be there yet.
std::unique_ptr<AgentLink> NewAgentClient(const std::string& path);

}  // namespace muster::worker

#endif  // MUSTER_WORKER_RPC_AGENT_CLIENT_H_
