#ifndef MUSTER_WORKER_DATA_TOKEN_WRITER_H_
#define MUSTER_WORKER_DATA_TOKEN_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/file_system.h"

namespace muster::worker {

// Names of the `count` files that a pack to `output` makes: `output` itself if it is one, otherwise numbered ones:
// "train.bin" -> "train-00000-of-00002.bin", "train-00001-of-00002.bin".
std::vector<std::string> OutputNames(const std::string& output, int64_t count);

// Writes bytes as tokens of llm.c's format, version 1 (uint16), to one or more files of nearly equal length. The number
// of tokens is known before the first. Files are written aside ("<path>.tmp") and get their names in Finish; destroyed
// without it, nothing is left. Holds a bounded buffer. Not thread-safe.
class ByteTokenWriter {
 public:
  // total >= 1; paths not empty, at most `total`.
  ByteTokenWriter(FileSystem* fs, std::vector<std::string> paths, int64_t total);
  ~ByteTokenWriter();

  absl::Status Append(absl::string_view bytes);
  // Syncs. INTERNAL if not `total` tokens were appended.
  absl::Status Seal();
  // Renames; after Seal.
  absl::Status Finish();

  const std::vector<std::string>& paths() const { return paths_; }
  // Tokens of file `index`.
  int64_t TokensOf(size_t index) const;

 private:
  absl::Status OpenNext();
  absl::Status CloseCurrent();

  FileSystem* const fs_;
  const std::vector<std::string> paths_;
  const int64_t total_;
  std::unique_ptr<WritableFile> file_;
  // Files opened so far, and the tokens that the current one still takes.
  size_t opened_ = 0;
  int64_t room_ = 0;
  bool finished_ = false;
};

}  // namespace muster::worker

#endif  // MUSTER_WORKER_DATA_TOKEN_WRITER_H_
