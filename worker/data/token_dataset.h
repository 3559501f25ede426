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

// Packed tokens in one or many files (docs/data_format.md), seen as one stream cut into samples of context + 1 tokens
// that overlap by one: sample i is tokens [i * context, (i + 1) * context]. A sample never crosses files; what is left
// at the end of a file and does not fill a sample is not used. Thread-safe.
//
// Files are read, not memory-mapped. A mapped file that is shortened, or whose disk or server fails, raises SIGBUS in
// whatever thread touches it, and no handler can turn that into an error of this call alone without leaving locks and
// destructors behind. A read of some kilobytes from the page cache costs about a microsecond a sample and fails with
// a status.
class TokenDataset {
 public:
  // `pattern` is a path or a glob; its files come in the order of their names, byte by byte. INVALID_ARGUMENT /
  // NOT_FOUND / DATA_LOSS name the file, what is wrong (magic, version, length not as the header says, fewer than
  // context + 1 tokens) and the remedy. context >= 1, vocab >= 1. Tokens are not looked at before they are read.
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
