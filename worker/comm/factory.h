#ifndef MUSTER_WORKER_COMM_FACTORY_H_
#define MUSTER_WORKER_COMM_FACTORY_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "worker/comm/communicator.h"

namespace muster::worker {

// Gives this rank's blob to the gang and returns all blobs by rank (WorkerService.Join).
using ExchangeFn = std::function<absl::StatusOr<std::vector<std::string>>(const std::string& blob)>;

struct CommOptions {
  int rank = 0;
  int size = 1;
  // The address to listen on; peers reach this rank there.
  std::string address;
  // Of each collective. Not how failures are found, only the last resort: a peer may be slow for many good reasons.
  absl::Duration timeout = absl::Seconds(60);
  // Of connecting to each peer.
  absl::Duration connect_timeout = absl::Seconds(60);
};

// Calls `exchange` exactly once, also when size is 1 (it is the gang barrier).
absl::StatusOr<std::unique_ptr<Communicator>> NewGlooCommunicator(const CommOptions& options,
                                                                  const ExchangeFn& exchange);

}  // namespace muster::worker

#endif  // MUSTER_WORKER_COMM_FACTORY_H_
