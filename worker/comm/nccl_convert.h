#ifndef MUSTER_WORKER_COMM_NCCL_CONVERT_H_
#define MUSTER_WORKER_COMM_NCCL_CONVERT_H_

#include <cuda_runtime.h>

#include <cstdint>

namespace muster::worker {

// On `stream`, device memory. Rounds to nearest, ties to even.
cudaError_t WidenBfloat16(const void* from, float* to, int64_t count, cudaStream_t stream);
cudaError_t NarrowToBfloat16(const float* from, void* to, int64_t count, cudaStream_t stream);

}  // namespace muster::worker

#endif  // MUSTER_WORKER_COMM_NCCL_CONVERT_H_
