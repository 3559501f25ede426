#ifndef MUSTER_COORDINATOR_RPC_SERVER_H_
#define MUSTER_COORDINATOR_RPC_SERVER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "coordinator/core/core.h"
#include "coordinator/runtime/log_store.h"
#include "coordinator/storage/state_store.h"

namespace muster::coordinator {

struct ServerOptions {
  // "address:port"; an IPv6 address in brackets; port 0: a free one.
  std::string listen = "0.0.0.0:7070";
  CoreOptions core;
  LogStoreOptions logs;
  Clock* clock = Clock::Real();
  // The state can no longer be stored by this process, which has to stop. Called at most once, on a thread that must
  // not call Stop.
  std::function<void(const absl::Status&)> on_fatal;
};

// A whole coordinator: the core with its driver, the log store and the gRPC services.
class CoordinatorServer {
 public:
  // Serves when it returns. `store` outlives the server. Errors name `listen`, or the store's file.
  static absl::StatusOr<std::unique_ptr<CoordinatorServer>> Start(ServerOptions options, StateStore* store);

  virtual ~CoordinatorServer() = default;  // stops

  virtual int port() const = 0;
  // Takes nothing new, ends all calls with UNAVAILABLE, returns once all of it is over.
  virtual void Stop() = 0;
  // Calls that last: sessions, watchers, logs.
  virtual size_t open_streams() const = 0;
};

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_RPC_SERVER_H_
