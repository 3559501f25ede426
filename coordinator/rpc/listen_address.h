#ifndef MUSTER_COORDINATOR_RPC_LISTEN_ADDRESS_H_
#define MUSTER_COORDINATOR_RPC_LISTEN_ADDRESS_H_

#include <string>

#include "absl/status/status.h"

namespace muster::coordinator {

// Whether a socket can listen on "address:port"; one line with the system's reason if not. gRPC itself tells no reason.
absl::Status CheckListenAddress(const std::string& listen);

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_RPC_LISTEN_ADDRESS_H_
