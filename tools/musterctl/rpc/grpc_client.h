#ifndef MUSTER_TOOLS_MUSTERCTL_RPC_GRPC_CLIENT_H_
#define MUSTER_TOOLS_MUSTERCTL_RPC_GRPC_CLIENT_H_

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "common/clock.h"
#include "tools/musterctl/ctl_client.h"

namespace muster::ctl {

struct GrpcClientOptions {
  // HOST:PORT.
  std::string address;
  // For a coordinator that has not answered yet.
  absl::Duration connect_timeout = absl::Seconds(5);
  // For one that has, and went away: it is being restarted.
  absl::Duration patience = absl::Seconds(60);
  Clock* clock = Clock::Real();
};

// Connects with the first call.
std::unique_ptr<CtlClient> NewGrpcClient(GrpcClientOptions options);

}  // namespace muster::ctl

#endif  // MUSTER_TOOLS_MUSTERCTL_RPC_GRPC_CLIENT_H_
