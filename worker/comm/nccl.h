#ifndef MUSTER_WORKER_COMM_NCCL_H_
#define MUSTER_WORKER_COMM_NCCL_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "worker/comm/factory.h"

namespace muster::worker {

// Collectives on the memory of GPU `device`. The NCCL library is looked up when the first one is made, so that a
// program with this in it also runs where there is no GPU. Calls return when the data is there; sums of floats are in
// fp32 in NCCL's order, which is fixed for a world size.
//
// Errors beside those of Communicator: NOT_FOUND without the library, a driver or the device.
absl::StatusOr<std::unique_ptr<Communicator>> NewNcclCommunicator(const CommOptions& options, int device,
                                                                  const ExchangeFn& exchange);

// Why NewNcclCommunicator cannot work on this machine; empty if it can.
std::string WhyNoNccl();

}  // namespace muster::worker

#endif  // MUSTER_WORKER_COMM_NCCL_H_
