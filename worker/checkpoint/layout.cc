#include "worker/checkpoint/layout.h"

#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"

namespace muster::worker {

std::string StepDirName(int64_t step) { return absl::StrFormat("step-%08d", step); }

std::string SaveDirName(int64_t step, uint64_t generation) {
  return absl::StrCat(StepDirName(step), ".tmp-", generation);
}

std::string ShardName(int rank, int world_size) {
  return absl::StrFormat("shard-%05d-of-%05d.safetensors", rank, world_size);
}

std::string ManifestAsideName(const std::string& id) { return absl::StrCat(kManifestName, ".", id, ".tmp"); }

bool IsManifestAsideName(absl::string_view name) {
  return absl::StartsWith(name, absl::StrCat(kManifestName, ".")) && absl::EndsWith(name, ".tmp");
}

std::optional<SaveDirParts> ParseSaveDirName(absl::string_view name) {
  const std::string whole(name);
  if (!absl::ConsumePrefix(&name, "step-")) return std::nullopt;
  const size_t dot = name.find(".tmp-");
  SaveDirParts parts;
  if (dot == absl::string_view::npos || !absl::SimpleAtoi(name.substr(0, dot), &parts.step) ||
      !absl::SimpleAtoi(name.substr(dot + 5), &parts.generation)) {
    return std::nullopt;
  }
  // Leading zeros, signs and blanks also parse as numbers.
  if (SaveDirName(parts.step, parts.generation) != whole) return std::nullopt;
  return parts;
}

bool IsShardName(absl::string_view name) {
  const std::string whole(name);
  if (!absl::ConsumePrefix(&name, "shard-") || !absl::ConsumeSuffix(&name, ".safetensors")) return false;
  const size_t of = name.find("-of-");
  int rank = 0;
  int world_size = 0;
  return of != absl::string_view::npos && absl::SimpleAtoi(name.substr(0, of), &rank) &&
         absl::SimpleAtoi(name.substr(of + 4), &world_size) && ShardName(rank, world_size) == whole;
}

bool IsPlainName(absl::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.find('/') == absl::string_view::npos &&
         name.find('\0') == absl::string_view::npos;
}

std::string JoinPath(absl::string_view folder, absl::string_view name) {
  return absl::StrCat(folder, absl::EndsWith(folder, "/") ? "" : "/", name);
}

std::string ParentDir(const std::string& path) {
  const size_t last = path.find_last_not_of('/');
  const size_t slash = last == std::string::npos ? 0 : path.rfind('/', last);
  if (slash == std::string::npos) return ".";
  const size_t end = path.find_last_not_of('/', slash);
  return end == std::string::npos ? "/" : path.substr(0, end + 1);
}

std::optional<int64_t> Elements(absl::Span<const int64_t> shape) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / static_cast<int64_t>(sizeof(float));
  int64_t elements = 1;
  for (int64_t d : shape) {
    if (d < 1 || elements > kMost / d) return std::nullopt;
    elements *= d;
  }
  return elements;
}

}  // namespace muster::worker
