#ifndef MUSTER_WORKER_COMM_ARGUMENTS_H_
#define MUSTER_WORKER_COMM_ARGUMENTS_H_

#include "absl/status/status.h"
#include "worker/comm/communicator.h"

namespace muster::worker {

// What every implementation checks before it communicates. INVALID_ARGUMENT names the collective and the sizes.
absl::Status CheckAllReduce(const Buffer& inout);
absl::Status CheckReduceScatter(const ConstBuffer& in, const Buffer& out, int size);
absl::Status CheckAllGather(const ConstBuffer& in, const Buffer& out, int size);
absl::Status CheckBroadcast(const Buffer& inout, int root, int size);

}  // namespace muster::worker

#endif  // MUSTER_WORKER_COMM_ARGUMENTS_H_
