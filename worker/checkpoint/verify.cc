#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "worker/checkpoint/checkpoint.h"
#include "worker/checkpoint/digest.h"
#include "worker/checkpoint/layout.h"
#include "worker/checkpoint/manifest.h"
#include "worker/checkpoint/safetensors.h"
#include "worker/checkpoint/shard_file.h"

namespace muster::worker {
namespace {

struct ChunkOfTensor {
  const v1::TensorEntry* tensor = nullptr;
  const v1::TensorChunk* chunk = nullptr;
  int64_t begin() const { return chunk->offset(); }
  int64_t end() const { return chunk->offset() + chunk->length() * static_cast<int64_t>(sizeof(float)); }
};

// Reads the file once; compares its digest and those of its chunks, which are in the order of their offsets.
absl::Status CheckDigests(const RandomAccessFile& file, const std::string& path, const v1::ShardFile& shard,
                          const std::vector<ChunkOfTensor>& chunks, std::vector<char>* buffer) {
  Digest of_file;
  Digest of_chunk;
  auto chunk = chunks.begin();
  for (int64_t at = 0; at < shard.bytes(); at += kPieceBytes) {
    const int64_t piece_end = std::min(at + kPieceBytes, shard.bytes());
    MUSTER_RETURN_IF_ERROR(ReadShard(file, path, at, piece_end - at, buffer->data()));
    of_file.Update({buffer->data(), static_cast<size_t>(piece_end - at)});
    for (; chunk != chunks.end() && chunk->begin() < piece_end; ++chunk) {
      const int64_t from = std::max(at, chunk->begin());
      const int64_t to = std::min(piece_end, chunk->end());
      of_chunk.Update({buffer->data() + (from - at), static_cast<size_t>(to - from)});
      if (chunk->end() > piece_end) break;
      if (of_chunk.Hex() != chunk->chunk->xxh3()) {
        return absl::DataLossError(absl::StrCat(path, ": ", chunk->tensor->name(), " at byte ", chunk->begin(),
                                                " has digest ", of_chunk.Hex(), ", not ", chunk->chunk->xxh3(),
                                                ": the file is damaged; resume from another checkpoint"));
      }
      of_chunk.Reset();
    }
  }
  if (of_file.Hex() != shard.xxh3()) {
    return absl::DataLossError(
        absl::StrCat(path, ": has digest ", of_file.Hex(), ", not ", shard.xxh3(),
                     ", though its tensors are sound: its header is damaged; resume from another "
                     "checkpoint, or copy the file again"));
  }
  return absl::OkStatus();
}

// That a program which knows nothing but safetensors sees the same chunks.
absl::Status CheckHeader(const RandomAccessFile& file, const std::string& path,
                         const std::vector<ChunkOfTensor>& chunks) {
  MUSTER_ASSIGN_OR_RETURN(const SafetensorsHeader header, ReadSafetensorsHeader(file, path));
  bool same = header.entries.size() == chunks.size();
  for (size_t i = 0; same && i < chunks.size(); ++i) {
    const SafetensorsEntry& entry = header.entries[i];
    same = entry.dtype == chunks[i].tensor->dtype() && header.data_offset + entry.begin == chunks[i].begin() &&
           header.data_offset + entry.end == chunks[i].end();
  }
  if (same) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(path,
                                          ": its header and the manifest name different tensors; resume from "
                                          "another checkpoint"));
}

}  // namespace

absl::Status VerifyCheckpoint(FileSystem* fs, const std::string& path) {
  MUSTER_ASSIGN_OR_RETURN(const v1::CheckpointManifest manifest, ReadManifest(fs, path));
  std::map<std::string, std::vector<ChunkOfTensor>> by_file;
  for (const v1::TensorEntry& tensor : manifest.tensors()) {
    for (const v1::TensorChunk& chunk : tensor.chunks()) by_file[chunk.file()].push_back({&tensor, &chunk});
  }
  std::vector<char> buffer(LargestPiece(manifest));
  for (const v1::ShardFile& shard : manifest.files()) {
    const std::string file_path = JoinPath(path, shard.name());
    std::vector<ChunkOfTensor>& chunks = by_file[shard.name()];
    std::sort(chunks.begin(), chunks.end(),
              [](const ChunkOfTensor& a, const ChunkOfTensor& b) { return a.begin() < b.begin(); });
    MUSTER_ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> file, OpenShard(fs, file_path, shard));
    MUSTER_RETURN_IF_ERROR(CheckDigests(*file, file_path, shard, chunks, &buffer));
    MUSTER_RETURN_IF_ERROR(CheckHeader(*file, file_path, chunks));
  }
  return absl::OkStatus();
}

}  // namespace muster::worker
