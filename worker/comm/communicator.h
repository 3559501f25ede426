#ifndef MUSTER_WORKER_COMM_COMMUNICATOR_H_
#define MUSTER_WORKER_COMM_COMMUNICATOR_H_

#include <cstdint>

#include "absl/status/status.h"

namespace muster::worker {

enum class DataType { kFloat32, kBfloat16, kInt64, kByte };
int64_t SizeOf(DataType type);

// `count` elements in the communicator's memory (host memory for Gloo and in-process, device memory for NCCL).
struct Buffer {
  void* data = nullptr;
  int64_t count = 0;
  DataType type = DataType::kFloat32;
};
struct ConstBuffer {
  const void* data = nullptr;
  int64_t count = 0;
  DataType type = DataType::kFloat32;
};

// The collectives that the trainer uses, among the ranks of one generation. All ranks call the same ones in the same
// order with the same sizes. One thread calls collectives; Abort may come from any thread.
//
// Sums of floats are in fp32 and do not depend on timing: the same inputs at the same world size give the same bits.
//
// Errors, after which only Abort and destruction are left:
//   UNAVAILABLE        a peer went away
//   DEADLINE_EXCEEDED  a peer did not answer in time
//   CANCELLED          Abort was called
//   INVALID_ARGUMENT   sizes or types do not fit (no communication took place)
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  virtual absl::Status AllReduceSum(Buffer inout) = 0;
  // in.count == out.count * size(); `out` gets the sum of the rank-th part. `out` may be that part of `in` (in place).
  virtual absl::Status ReduceScatterSum(ConstBuffer in, Buffer out) = 0;
  // out.count == in.count * size(). `in` may be the rank-th part of `out` (in place).
  virtual absl::Status AllGather(ConstBuffer in, Buffer out) = 0;
  virtual absl::Status Broadcast(Buffer inout, int root) = 0;
  virtual absl::Status Barrier() = 0;

  // Makes calls under way and later ones fail soon with CANCELLED. Thread-safe; may be called again.
  virtual void Abort() = 0;
};

}  // namespace muster::worker

#endif  // MUSTER_WORKER_COMM_COMMUNICATOR_H_
