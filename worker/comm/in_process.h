#ifndef MUSTER_WORKER_COMM_IN_PROCESS_H_
#define MUSTER_WORKER_COMM_IN_PROCESS_H_

#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "worker/comm/communicator.h"

namespace muster::worker {

// The communicators of `size` ranks that are threads of this process, by rank. Each may outlive the others. Sums are
// those of the Gloo communicator, bit for bit. Destroying or aborting one makes the calls of the others fail with
// UNAVAILABLE.
std::vector<std::unique_ptr<Communicator>> NewInProcessGroup(int size, absl::Duration timeout = absl::Seconds(60));

}  // namespace muster::worker

#endif  // MUSTER_WORKER_COMM_IN_PROCESS_H_
