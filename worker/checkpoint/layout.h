#ifndef MUSTER_WORKER_CHECKPOINT_LAYOUT_H_
#define MUSTER_WORKER_CHECKPOINT_LAYOUT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace muster::worker {

// Names in a job's checkpoint folder; docs/checkpoint_format.md.

inline constexpr int kFormatVersion = 1;
inline constexpr char kManifestName[] = "manifest.json";
// What manifest.json becomes when its checkpoint is being removed.
inline constexpr char kRemovingName[] = "removing.json";
inline constexpr char kDtype[] = "F32";

// How much of a file is read, written or hashed at a time.
inline constexpr int64_t kPieceBytes = int64_t{1} << 20;

// step-<8 digits>
std::string StepDirName(int64_t step);
// step-<8 digits>.tmp-<generation>
std::string SaveDirName(int64_t step, uint64_t generation);
// shard-<rank>-of-<world size>.safetensors, 5 digits each.
std::string ShardName(int rank, int world_size);

// manifest.json.<id>.tmp: a manifest while it is written, which a crash may leave.
std::string ManifestAsideName(const std::string& id);
bool IsManifestAsideName(absl::string_view name);

struct SaveDirParts {
  int64_t step = 0;
  uint64_t generation = 0;
};
// Of exactly what SaveDirName makes; nothing for any other name.
std::optional<SaveDirParts> ParseSaveDirName(absl::string_view name);

bool IsShardName(absl::string_view name);

// Names an entry of a folder and nothing else: not empty, ".", "..", and without '/' or NUL. What a manifest calls a
// file must be one, or a forged manifest could read and remove files anywhere.
bool IsPlainName(absl::string_view name);

std::string JoinPath(absl::string_view folder, absl::string_view name);
// The folder that `path` is in.
std::string ParentDir(const std::string& path);

// The product of `shape`; nothing if a dimension is below 1 or the bytes of such a tensor do not fit 63 bits.
std::optional<int64_t> Elements(absl::Span<const int64_t> shape);

}  // namespace muster::worker

#endif  // MUSTER_WORKER_CHECKPOINT_LAYOUT_H_
