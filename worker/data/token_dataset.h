#ifndef MUSTER_WORKER_DATA_TOKEN_DATASET_H_
#define MUSTER_WORKER_DATA_TOKEN_DATASET_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/job.pb.h"

namespace muster::worker {

// Packed tokens in one or many memory-mapped files, seen as one stream cut into samples of context + 1 tokens that
// overlap by one: sample i is tokens [i * context, (i + 1) * context]. A sample never crosses files. Thread-safe.
class TokenDataset {
 public:
  // `pattern` is a path or a glob. INVALID_ARGUMENT / NOT_FOUND / DATA_LOSS name the file, what is wrong (magic,
  // version, length not as the header says, fewer than context + 1 tokens) and the remedy.
  static absl::StatusOr<std::unique_ptr<TokenDataset>> Open(const std::string& pattern, v1::TokenFormat format,
                                                            int context, int vocab);
  virtual ~TokenDataset() = default;
  virtual int64_t samples() const = 0;
  // `out` has context + 1 elements. DATA_LOSS names file and token offset for a token not in [0, vocab), or a file that
  // has become shorter.
  virtual absl::Status Read(int64_t id, absl::Span<int32_t> out) const = 0;
};

}  // namespace muster::worker

#endif  // MUSTER_WORKER_DATA_TOKEN_DATASET_H_
