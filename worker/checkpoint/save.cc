#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "worker/checkpoint/checkpoint.h"
#include "worker/checkpoint/digest.h"
#include "worker/checkpoint/layout.h"
#include "worker/checkpoint/remedy.h"
#include "worker/checkpoint/safetensors.h"

namespace muster::worker {
namespace {

bool IsPrintable(absl::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

absl::Status CheckSlices(const std::vector<TensorSlice>& slices) {
  std::map<std::string, std::map<int64_t, const TensorSlice*>> by_tensor;
  for (const TensorSlice& slice : slices) {
    const std::optional<int64_t> elements = Elements(slice.shape);
    const int64_t length = static_cast<int64_t>(slice.data.size());
    if (!IsPrintable(slice.name) || !elements.has_value() || slice.start < 0 || slice.start > *elements ||
        length > *elements - slice.start) {
      return absl::InvalidArgumentError(absl::StrCat("cannot save elements ", slice.start, " to ", slice.start + length,
                                                     " of tensor '", slice.name, "' with ", elements.value_or(-1),
                                                     " elements"));
    }
    if (length == 0) continue;
    auto& of_tensor = by_tensor[slice.name];
    if (!of_tensor.empty() && of_tensor.begin()->second->shape != slice.shape) {
      return absl::InvalidArgumentError(absl::StrCat("slices of ", slice.name, " disagree on its shape"));
    }
    if (!of_tensor.emplace(slice.start, &slice).second) {
      return absl::InvalidArgumentError(absl::StrCat("two slices of ", slice.name, " start at ", slice.start));
    }
  }
  for (const auto& [name, of_tensor] : by_tensor) {
    int64_t end = 0;
    for (const auto& [start, slice] : of_tensor) {
      if (start < end) return absl::InvalidArgumentError(absl::StrCat("slices of ", name, " overlap at ", start));
      end = start + static_cast<int64_t>(slice->data.size());
    }
  }
  return absl::OkStatus();
}

bool IsWhole(const TensorSlice& slice) {
  return static_cast<int64_t>(slice.data.size()) == Elements(slice.shape).value();
}

// Whole tensors keep name and shape, so that any safetensors program sees them as they are; a part says which.
SafetensorsEntry EntryOf(const TensorSlice& slice, int64_t begin) {
  const int64_t length = static_cast<int64_t>(slice.data.size());
  SafetensorsEntry entry = {.name = slice.name, .dtype = kDtype, .shape = slice.shape};
  if (!IsWhole(slice)) {
    entry.name = absl::StrCat(slice.name, "[", slice.start, ":", slice.start + length, "]");
    entry.shape = {length};
  }
  entry.begin = begin;
  entry.end = begin + length * static_cast<int64_t>(sizeof(float));
  return entry;
}

std::string EncodeHeader(const SaveOptions& options, const std::vector<TensorSlice>& slices) {
  std::map<std::string, std::string> metadata = {
      {"format", absl::StrCat("muster-checkpoint-", kFormatVersion)},
      {"generation", absl::StrCat(options.generation)},
      {"rank", absl::StrCat(options.rank)},
      {"step", absl::StrCat(options.step)},
      {"world_size", absl::StrCat(options.world_size)},
  };
  if (!options.header.job_id().empty()) metadata["job_id"] = options.header.job_id();
  if (!options.header.job_uid().empty()) metadata["job_uid"] = options.header.job_uid();
  std::vector<SafetensorsEntry> entries;
  int64_t begin = 0;
  for (const TensorSlice& slice : slices) {
    if (slice.data.empty()) continue;
    entries.push_back(EntryOf(slice, begin));
    begin = entries.back().end;
  }
  return EncodeSafetensorsHeader(metadata, entries);
}

v1::TensorEntry* TensorOf(const TensorSlice& slice, std::map<std::string, v1::TensorEntry*>* by_name,
                          v1::ShardReport* report) {
  v1::TensorEntry*& tensor = (*by_name)[slice.name];
  if (tensor == nullptr) {
    tensor = report->add_tensors();
    tensor->set_name(slice.name);
    tensor->set_dtype(kDtype);
    tensor->mutable_shape()->Add(slice.shape.begin(), slice.shape.end());
  }
  return tensor;
}

// Writes the file and fills in the report's tensors and file.
absl::Status WriteShard(FileSystem* fs, const std::string& path, const SaveOptions& options,
                        const std::vector<TensorSlice>& slices, v1::ShardReport* report) {
  MUSTER_ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file, fs->NewWritableFile(path));
  const std::string header = EncodeHeader(options, slices);
  Digest of_file;
  of_file.Update(header);
  MUSTER_RETURN_IF_ERROR(file->Append(header));
  int64_t offset = static_cast<int64_t>(header.size());
  std::map<std::string, v1::TensorEntry*> by_name;
  for (const TensorSlice& slice : slices) {
    if (slice.data.empty()) continue;
    const absl::string_view bytes(reinterpret_cast<const char*>(slice.data.data()), slice.data.size() * sizeof(float));
    Digest of_chunk;
    for (size_t at = 0; at < bytes.size(); at += kPieceBytes) {
      const absl::string_view piece = bytes.substr(at, kPieceBytes);
      of_chunk.Update(piece);
      of_file.Update(piece);
      MUSTER_RETURN_IF_ERROR(file->Append(piece));
    }
    v1::TensorChunk* chunk = TensorOf(slice, &by_name, report)->add_chunks();
    chunk->set_file(report->file().name());
    chunk->set_offset(offset);
    chunk->set_start(slice.start);
    chunk->set_length(static_cast<int64_t>(slice.data.size()));
    chunk->set_xxh3(of_chunk.Hex());
    offset += static_cast<int64_t>(bytes.size());
  }
  report->mutable_file()->set_bytes(offset);
  report->mutable_file()->set_xxh3(of_file.Hex());
  MUSTER_RETURN_IF_ERROR(file->Sync());
  return file->Close();
}

// Makes `dir`, with what is in it, survive a crash: every folder that may be new is synced into its parent. The job's
// folder may be new although this rank did not create it: another one may have, a moment ago.
absl::Status SyncAncestors(FileSystem* fs, const std::string& dir, const std::vector<std::string>& created) {
  std::vector<std::string> parents = {dir, ParentDir(dir), ParentDir(ParentDir(dir))};
  for (const std::string& folder : created) parents.push_back(ParentDir(folder));
  std::sort(parents.begin(), parents.end());
  parents.erase(std::unique(parents.begin(), parents.end()), parents.end());
  for (const std::string& parent : parents) MUSTER_RETURN_IF_ERROR(fs->SyncDir(parent));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> MissingFolders(FileSystem* fs, std::string dir) {
  std::vector<std::string> missing;
  while (dir != "/" && dir != ".") {
    MUSTER_ASSIGN_OR_RETURN(const bool exists, fs->Exists(dir));
    if (exists) break;
    missing.push_back(dir);
    dir = ParentDir(dir);
  }
  return missing;
}

}  // namespace

absl::StatusOr<v1::ShardReport> SaveShard(FileSystem* fs, const SaveOptions& options,
                                          const std::vector<TensorSlice>& slices) {
  if (options.step < 0 || options.world_size < 1 || options.rank < 0 || options.rank >= options.world_size) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot save step ", options.step, " as rank ", options.rank, " of ", options.world_size));
  }
  MUSTER_RETURN_IF_ERROR(CheckSlices(slices));
  const std::string dir = JoinPath(options.job_dir, SaveDirName(options.step, options.generation));
  v1::ShardReport report;
  report.set_step(options.step);
  report.set_rank(options.rank);
  report.mutable_file()->set_name(ShardName(options.rank, options.world_size));
  if (options.rank == 0) {
    v1::CheckpointManifest* header = report.mutable_header();
    *header = options.header;
    header->set_format_version(kFormatVersion);
    header->set_step(options.step);
    header->set_generation(options.generation);
    header->set_world_size(options.world_size);
    header->clear_tensors();
    header->clear_files();
    header->clear_manifest_xxh3();
  }

  const std::string path = JoinPath(dir, report.file().name());
  absl::StatusOr<std::vector<std::string>> created = MissingFolders(fs, dir);
  if (!created.ok()) return WithRemedy(created.status(), options.job_dir);
  if (const absl::Status status = fs->CreateDirs(dir); !status.ok()) return WithRemedy(status, options.job_dir);
  absl::Status status = WriteShard(fs, path, options, slices, &report);
  if (status.ok()) status = SyncAncestors(fs, dir, *created);
  if (!status.ok()) {
    // Gives the space back; what matters is the first error.
    fs->Remove(path).IgnoreError();
    return WithRemedy(status, options.job_dir);
  }
  return report;
}

}  // namespace muster::worker
