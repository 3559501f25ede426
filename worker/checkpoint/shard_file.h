#ifndef MUSTER_WORKER_CHECKPOINT_SHARD_FILE_H_
#define MUSTER_WORKER_CHECKPOINT_SHARD_FILE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/file_system.h"
#include "proto/checkpoint.pb.h"

namespace muster::worker {

// Opens a shard that a manifest names. NOT_FOUND: it is gone. DATA_LOSS: it has not the size that the manifest says.
absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenShard(FileSystem* fs, const std::string& path,
                                                            const v1::ShardFile& shard);

// Room for any piece of the manifest's files: at most kPieceBytes.
int64_t LargestPiece(const v1::CheckpointManifest& manifest);

// As RandomAccessFile::Read, but a file that has become shorter is DATA_LOSS.
absl::Status ReadShard(const RandomAccessFile& file, const std::string& path, int64_t offset, int64_t n, char* out);

}  // namespace muster::worker

#endif  // MUSTER_WORKER_CHECKPOINT_SHARD_FILE_H_
