#include <cuda_bf16.h>

#include "worker/comm/nccl_convert.h"

namespace muster::worker {
namespace {

constexpr int kThreads = 256;

unsigned Blocks(int64_t count) { return static_cast<unsigned>((count + kThreads - 1) / kThreads); }

__global__ void Widen(const __nv_bfloat16* from, float* to, int64_t count) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < count) to[i] = __bfloat162float(from[i]);
}

__global__ void Narrow(const float* from, __nv_bfloat16* to, int64_t count) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < count) to[i] = __float2bfloat16_rn(from[i]);
}

}  // namespace

cudaError_t WidenBfloat16(const void* from, float* to, int64_t count, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  Widen<<<Blocks(count), kThreads, 0, stream>>>(static_cast<const __nv_bfloat16*>(from), to, count);
  return cudaGetLastError();
}

cudaError_t NarrowToBfloat16(const float* from, void* to, int64_t count, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  Narrow<<<Blocks(count), kThreads, 0, stream>>>(from, static_cast<__nv_bfloat16*>(to), count);
  return cudaGetLastError();
}

}  // namespace muster::worker
