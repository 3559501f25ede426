#ifndef MUSTER_AGENT_RPC_CHANNEL_H_
#define MUSTER_AGENT_RPC_CHANNEL_H_

#include <grpcpp/grpcpp.h>

#include <memory>

#include "absl/time/time.h"
#include "agent/runtime/network.h"

namespace muster::agent {

// A channel of its own to the coordinator: shares no connection and no back-off with another one, uses no HTTP proxy,
// and gives up connecting after `connect_timeout`. Messages may be of any size (checkpoint manifests are large).
std::shared_ptr<grpc::Channel> NewChannel(const HostPort& target, absl::Duration connect_timeout);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_RPC_CHANNEL_H_
