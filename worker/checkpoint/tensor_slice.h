#ifndef MUSTER_WORKER_CHECKPOINT_TENSOR_SLICE_H_
#define MUSTER_WORKER_CHECKPOINT_TENSOR_SLICE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace muster::worker {

// Elements [start, start + data.size()) of the flattened fp32 tensor `name` of `shape`, in memory that somebody else
// owns. What the trainer hands to the checkpoint writer, and what the reader fills.
struct TensorSlice {
  // "param/h.0.attn.c_attn.weight", "exp_avg/...", "exp_avg_sq/...".
  std::string name;
  std::vector<int64_t> shape;
  int64_t start = 0;
  absl::Span<float> data;
};

}  // namespace muster::worker

#endif  // MUSTER_WORKER_CHECKPOINT_TENSOR_SLICE_H_
