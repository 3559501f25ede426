#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "worker/checkpoint/checkpoint.h"
#include "worker/checkpoint/digest.h"
#include "worker/checkpoint/layout.h"
#include "worker/checkpoint/manifest.h"
#include "worker/checkpoint/shard_file.h"

namespace muster::worker {
namespace {

// A chunk that has something of at least one target.
struct WantedChunk {
  const v1::TensorEntry* tensor = nullptr;
  std::vector<const TensorSlice*> targets;
};

// In the order in which the chunks lie in each file.
using Plan = std::map<std::string, std::map<int64_t, std::pair<const v1::TensorChunk*, WantedChunk>>>;

std::string ShapeText(absl::Span<const int64_t> shape) { return absl::StrCat("[", absl::StrJoin(shape, ", "), "]"); }

absl::Status CheckTarget(const TensorSlice& target, const v1::TensorEntry& tensor, const std::string& path) {
  if (!std::equal(target.shape.begin(), target.shape.end(), tensor.shape().begin(), tensor.shape().end())) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", target.name, " has shape ", ShapeText(tensor.shape()),
                                                   ", the model wants ", ShapeText(target.shape),
                                                   "; use the model section that the checkpoint was made with"));
  }
  const int64_t elements = Elements(target.shape).value();
  if (target.start < 0 || target.start > elements ||
      static_cast<int64_t>(target.data.size()) > elements - target.start) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": no elements ", target.start, " to ",
                                                   target.start + static_cast<int64_t>(target.data.size()), " of ",
                                                   target.name, ", which has ", elements));
  }
  return absl::OkStatus();
}

absl::StatusOr<Plan> MakePlan(const v1::CheckpointManifest& manifest, const std::vector<TensorSlice>& targets,
                              const std::string& path) {
  std::map<absl::string_view, const v1::TensorEntry*> tensors;
  for (const v1::TensorEntry& tensor : manifest.tensors()) tensors[tensor.name()] = &tensor;
  Plan plan;
  for (const TensorSlice& target : targets) {
    const auto found = tensors.find(target.name);
    if (found == tensors.end()) {
      return absl::NotFoundError(absl::StrCat(path, ": has no tensor ", target.name,
                                              "; use the model section that the checkpoint was made with"));
    }
    MUSTER_RETURN_IF_ERROR(CheckTarget(target, *found->second, path));
    const int64_t end = target.start + static_cast<int64_t>(target.data.size());
    for (const v1::TensorChunk& chunk : found->second->chunks()) {
      if (chunk.start() >= end || chunk.start() + chunk.length() <= target.start) continue;
      auto& [of_manifest, wanted] = plan[chunk.file()][chunk.offset()];
      of_manifest = &chunk;
      wanted.tensor = found->second;
      wanted.targets.push_back(&target);
    }
  }
  return plan;
}

// Copies what `piece`, the elements from `start` on, has of `target`.
void CopyOverlap(absl::string_view piece, int64_t start, const TensorSlice& target) {
  const int64_t end = start + static_cast<int64_t>(piece.size() / sizeof(float));
  const int64_t from = std::max(start, target.start);
  const int64_t to = std::min(end, target.start + static_cast<int64_t>(target.data.size()));
  if (from >= to) return;
  std::memcpy(target.data.data() + (from - target.start), piece.data() + (from - start) * sizeof(float),
              (to - from) * sizeof(float));
}

absl::Status LoadChunk(const RandomAccessFile& file, const std::string& path, const v1::TensorChunk& chunk,
                       const WantedChunk& wanted, std::vector<char>* buffer) {
  Digest digest;
  const int64_t bytes = chunk.length() * static_cast<int64_t>(sizeof(float));
  for (int64_t at = 0; at < bytes; at += kPieceBytes) {
    const int64_t n = std::min(kPieceBytes, bytes - at);
    MUSTER_RETURN_IF_ERROR(ReadShard(file, path, chunk.offset() + at, n, buffer->data()));
    const absl::string_view piece(buffer->data(), n);
    digest.Update(piece);
    for (const TensorSlice* target : wanted.targets) {
      CopyOverlap(piece, chunk.start() + at / static_cast<int64_t>(sizeof(float)), *target);
    }
  }
  if (digest.Hex() == chunk.xxh3()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(path, ": ", wanted.tensor->name(), " at byte ", chunk.offset(),
                                          " has digest ", digest.Hex(), ", not ", chunk.xxh3(),
                                          ": the file is damaged; resume from another checkpoint"));
}

}  // namespace

absl::StatusOr<v1::CheckpointManifest> ReadManifest(FileSystem* fs, const std::string& path) {
  const std::string file = JoinPath(path, kManifestName);
  absl::StatusOr<std::string> bytes = ReadFile(fs, file);
  if (absl::IsNotFound(bytes.status())) {
    return absl::NotFoundError(absl::StrCat(file, " is not there, so ", path, " is no checkpoint"));
  }
  if (!bytes.ok()) return bytes.status();
  return DecodeManifest(*bytes, file);
}

absl::Status LoadSlices(FileSystem* fs, const std::string& path, const v1::CheckpointManifest& manifest,
                        const std::vector<TensorSlice>& targets) {
  MUSTER_RETURN_IF_ERROR(ValidateManifest(manifest, absl::StrCat("manifest of ", path)));
  MUSTER_ASSIGN_OR_RETURN(const Plan plan, MakePlan(manifest, targets, path));
  std::vector<char> buffer(LargestPiece(manifest));
  for (const v1::ShardFile& shard : manifest.files()) {
    const auto chunks = plan.find(shard.name());
    if (chunks == plan.end()) continue;
    const std::string file_path = JoinPath(path, shard.name());
    MUSTER_ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> file, OpenShard(fs, file_path, shard));
    for (const auto& [offset, chunk] : chunks->second) {
      MUSTER_RETURN_IF_ERROR(LoadChunk(*file, file_path, *chunk.first, chunk.second, &buffer));
    }
  }
  return absl::OkStatus();
}

}  // namespace muster::worker
