#include "worker/checkpoint/shard_file.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "worker/checkpoint/layout.h"

namespace muster::worker {

absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenShard(FileSystem* fs, const std::string& path,
                                                            const v1::ShardFile& shard) {
  absl::StatusOr<std::unique_ptr<RandomAccessFile>> file = fs->NewRandomAccessFile(path);
  if (absl::IsNotFound(file.status())) {
    return absl::NotFoundError(absl::StrCat(path,
                                            " is gone, though the manifest names it; resume from another "
                                            "checkpoint, and check that every node sees the folder"));
  }
  if (!file.ok()) return file.status();
  MUSTER_ASSIGN_OR_RETURN(const int64_t bytes, (*file)->Size());
  if (bytes != shard.bytes()) {
    return absl::DataLossError(absl::StrCat(path, ": ", bytes, " bytes, but the manifest says ", shard.bytes(),
                                            ": the file is damaged; resume from another checkpoint"));
  }
  return file;
}

int64_t LargestPiece(const v1::CheckpointManifest& manifest) {
  int64_t largest = 0;
  for (const v1::ShardFile& shard : manifest.files()) largest = std::max(largest, shard.bytes());
  return std::min(largest, kPieceBytes);
}

absl::Status ReadShard(const RandomAccessFile& file, const std::string& path, int64_t offset, int64_t n, char* out) {
  const absl::Status status = file.Read(offset, n, out);
  if (!absl::IsOutOfRange(status)) return status;
  return absl::DataLossError(absl::StrCat(path, ": became shorter while it was read; resume from another checkpoint"));
}

}  // namespace muster::worker
