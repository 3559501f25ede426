#ifndef MUSTER_TOOLS_MUSTERCTL_RPC_GRPC_STATUS_H_
#define MUSTER_TOOLS_MUSTERCTL_RPC_GRPC_STATUS_H_

#include <grpcpp/support/status.h>

#include <string>

#include "absl/status/status.h"

namespace muster::ctl {

// The codes are the same numbers; the message becomes one line.
absl::Status ToAbslStatus(const grpc::Status& status);

// gRPC's words for a failed connection, in ours: "connection refused", "the host name is not known", ...
std::string ReasonOfFailedConnection(const grpc::Status& status);

}  // namespace muster::ctl

#endif  // MUSTER_TOOLS_MUSTERCTL_RPC_GRPC_STATUS_H_
