#ifndef MUSTER_WORKER_COMM_NCCL_API_H_
#define MUSTER_WORKER_COMM_NCCL_API_H_

#include <nccl.h>

#include "absl/status/statusor.h"

namespace muster::worker {

// The functions of libnccl that we use, found by dlopen.
struct NcclApi {
  decltype(&::ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&::ncclCommInitRankConfig) comm_init = nullptr;
  decltype(&::ncclCommGetAsyncError) async_error = nullptr;
  decltype(&::ncclCommFinalize) comm_finalize = nullptr;
  decltype(&::ncclCommDestroy) comm_destroy = nullptr;
  decltype(&::ncclCommAbort) comm_abort = nullptr;
  decltype(&::ncclAllReduce) all_reduce = nullptr;
  decltype(&::ncclReduceScatter) reduce_scatter = nullptr;
  decltype(&::ncclAllGather) all_gather = nullptr;
  decltype(&::ncclBroadcast) broadcast = nullptr;

  // Loaded once, never unloaded. NOT_FOUND says what is missing and where to get it.
  static absl::StatusOr<const NcclApi*> Get();
};

}  // namespace muster::worker

#endif  // MUSTER_WORKER_COMM_NCCL_API_H_
