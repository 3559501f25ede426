#ifndef MUSTER_WORKER_COMM_NCCL_ERRORS_H_
#define MUSTER_WORKER_COMM_NCCL_ERRORS_H_

#include <cuda_runtime.h>
#include <nccl.h>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace muster::worker {

// The one place where codes of NCCL and CUDA become a status. `what` is the operation.
inline absl::Status NcclStatus(ncclResult_t result, absl::string_view what) {
  switch (result) {
    case ncclSuccess:
    case ncclInProgress:
      return absl::OkStatus();
    case ncclRemoteError:
      return absl::UnavailableError(absl::StrCat("a peer went away in ", what, " (NCCL remote error)"));
    case ncclSystemError:
      return absl::UnavailableError(
          absl::StrCat("a connection failed in ", what, " (NCCL system error; NCCL_DEBUG=WARN says more)"));
    case ncclInvalidArgument:
    case ncclInvalidUsage:
      return absl::InvalidArgumentError(absl::StrCat("NCCL refuses the arguments of ", what));
    default:
      return absl::InternalError(absl::StrCat("NCCL error ", static_cast<int>(result), " in ", what));
  }
}

inline absl::Status CudaStatus(cudaError_t error, absl::string_view what) {
  switch (error) {
    case cudaSuccess:
      return absl::OkStatus();
    case cudaErrorMemoryAllocation:
      return absl::ResourceExhaustedError(absl::StrCat("out of GPU memory in ", what));
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorInvalidDevice:
      return absl::NotFoundError(absl::StrCat(what, ": ", cudaGetErrorString(error)));
    default:
      return absl::InternalError(absl::StrCat("CUDA error in ", what, ": ", cudaGetErrorString(error)));
  }
}

}  // namespace muster::worker

#endif  // MUSTER_WORKER_COMM_NCCL_ERRORS_H_
