#ifndef MUSTER_COORDINATOR_RPC_GRPC_STATUS_H_
#define MUSTER_COORDINATOR_RPC_GRPC_STATUS_H_

#include <grpcpp/support/status.h>

#include <string>

#include "absl/status/status.h"

namespace muster::coordinator {

// The two have the same codes.
inline grpc::Status ToGrpc(const absl::Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), std::string(status.message()));
}

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_RPC_GRPC_STATUS_H_
