#include "common/checkpoint_manifest/merge.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace muster {
namespace {

// -1: not a shape.
int64_t Elements(const v1::TensorEntry& tensor) {
  int64_t n = 1;
  for (int64_t d : tensor.shape()) {
    if (d < 0 || (d > 0 && n > std::numeric_limits<int64_t>::max() / d)) return -1;
    n *= d;
  }
  return n;
}

absl::Status AddTensors(const v1::ShardReport& report, std::map<std::string, v1::TensorEntry>* tensors) {
  for (const v1::TensorEntry& tensor : report.tensors()) {
    for (const v1::TensorChunk& chunk : tensor.chunks()) {
      if (chunk.file() != report.file().name()) {
        return absl::InvalidArgumentError(absl::StrCat("rank ", report.rank(), " reports a chunk of ", tensor.name(),
                                                       " in file '", chunk.file(), "', but it wrote '",
                                                       report.file().name(), "'"));
      }
    }
    auto [it, is_new] = tensors->try_emplace(tensor.name(), tensor);
    if (is_new) continue;
    v1::TensorEntry& merged = it->second;
    const bool same_shape =
        std::equal(merged.shape().begin(), merged.shape().end(), tensor.shape().begin(), tensor.shape().end());
    if (merged.dtype() != tensor.dtype() || !same_shape) {
      return absl::InvalidArgumentError(absl::StrCat("rank ", report.rank(), " reports another dtype or shape of ",
                                                     tensor.name(), " than the ranks before it"));
    }
    merged.mutable_chunks()->MergeFrom(tensor.chunks());
  }
  return absl::OkStatus();
}

absl::Status SortAndCheckCoverage(v1::TensorEntry* tensor) {
  std::sort(tensor->mutable_chunks()->begin(), tensor->mutable_chunks()->end(),
            [](const v1::TensorChunk& a, const v1::TensorChunk& b) { return a.start() < b.start(); });
  const int64_t elements = Elements(*tensor);
  int64_t covered = 0;
  for (const v1::TensorChunk& chunk : tensor->chunks()) {
    if (chunk.start() != covered || chunk.length() < 0 || chunk.length() > elements - covered) {
      return absl::InvalidArgumentError(
          absl::StrCat("the slices of ", tensor->name(), " do not cover it once: one starts at ", chunk.start(),
                       " with length ", chunk.length(), " where ", covered, " of ", elements, " elements are covered"));
    }
    covered += chunk.length();
  }
  if (covered != elements) {
    return absl::InvalidArgumentError(
        absl::StrCat("the slices of ", tensor->name(), " end at ", covered, " of ", elements, " elements"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::CheckpointManifest> MergeShardReports(const std::vector<v1::ShardReport>& reports) {
  std::map<int, const v1::ShardReport*> by_rank;
  for (const v1::ShardReport& report : reports) {
    if (!by_rank.emplace(report.rank(), &report).second) {
      return absl::InvalidArgumentError(absl::StrCat("rank ", report.rank(), " reported twice"));
    }
  }
  const int world = static_cast<int>(by_rank.size());
  if (world == 0 || by_rank.begin()->first != 0 || by_rank.rbegin()->first != world - 1) {
    return absl::InvalidArgumentError(absl::StrCat(world, " reports are not ranks 0 to ", world - 1));
  }
  const v1::ShardReport& first = *by_rank.at(0);
  if (!first.has_header() || first.header().step() != first.step() || first.header().world_size() != world) {
    return absl::InvalidArgumentError(absl::StrCat("rank 0's report of step ", first.step(),
                                                   " has no header of that step and of world size ", world));
  }

  v1::CheckpointManifest manifest = first.header();
  manifest.clear_tensors();
  manifest.clear_files();
  std::map<std::string, v1::TensorEntry> tensors;
  for (const auto& [rank, report] : by_rank) {
    if (report->step() != first.step()) {
      return absl::InvalidArgumentError(
          absl::StrCat("rank ", rank, " reports step ", report->step(), ", rank 0 step ", first.step()));
    }
    *manifest.add_files() = report->file();
    MUSTER_RETURN_IF_ERROR(AddTensors(*report, &tensors));
  }
  for (auto& [name, tensor] : tensors) {
    MUSTER_RETURN_IF_ERROR(SortAndCheckCoverage(&tensor));
    *manifest.add_tensors() = std::move(tensor);
  }
  return manifest;
}

}  // namespace muster
