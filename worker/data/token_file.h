#ifndef MUSTER_WORKER_DATA_TOKEN_FILE_H_
#define MUSTER_WORKER_DATA_TOKEN_FILE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/file_system.h"
#include "proto/job.pb.h"

namespace muster::worker {

// The header of llm.c's token files: 256 little-endian int32, of which three mean something.
inline constexpr int64_t kTokenHeaderBytes = 256 * 4;
inline constexpr int32_t kMagicU16 = 20240520;
inline constexpr int32_t kVersionU16 = 1;
inline constexpr int32_t kMagicU32 = 20240801;
inline constexpr int32_t kVersionU32 = 7;
// The count is an int32 for llm.c's own readers, so writers stay below this. Read as unsigned.
inline constexpr int64_t kMaxTokensWritten = 0x7fffffff;

// The 1024 bytes before `tokens` uint16 tokens.
std::string TokenHeaderU16(int64_t tokens);

// One open token file whose length is what its header says. Thread-safe.
class TokenFile {
 public:
  // TOKEN_FORMAT_UNSPECIFIED is AUTO.
  //   INVALID_ARGUMENT  unknown magic or version; a file with a header read as RAW_U16
  //   DATA_LOSS         shorter or longer than its header says; an odd number of bytes of uint16
  //   else              what the file system says
  static absl::StatusOr<TokenFile> Open(FileSystem* fs, const std::string& path, v1::TokenFormat format);

  const std::string& path() const { return path_; }
  int64_t tokens() const { return tokens_; }
  // Bytes a token: 2 or 4.
  int width() const { return width_; }
  // Whether it has a header.
  bool raw() const { return data_offset_ == 0; }

  // Tokens [first, first + out.size()), within [0, tokens()). DATA_LOSS if the file has become shorter.
  absl::Status Read(int64_t first, absl::Span<uint32_t> out) const;

 private:
  TokenFile() = default;

  std::string path_;
  std::unique_ptr<RandomAccessFile> file_;
  int64_t data_offset_ = 0;
  int64_t tokens_ = 0;
  int width_ = 2;
};

}  // namespace muster::worker

#endif  // MUSTER_WORKER_DATA_TOKEN_FILE_H_
