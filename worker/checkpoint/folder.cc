#include "worker/checkpoint/folder.h"

#include <map>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "worker/checkpoint/layout.h"
#include "worker/checkpoint/manifest.h"
#include "worker/checkpoint/safetensors.h"

namespace muster::worker {
namespace {

absl::Status RemoveIfThere(FileSystem* fs, const std::string& path) {
  const absl::Status status = fs->Remove(path);
  return absl::IsNotFound(status) ? absl::OkStatus() : status;
}

// An empty folder goes; one in which somebody keeps files of his own stays.
absl::Status RemoveFolderIfEmpty(FileSystem* fs, const std::string& dir) {
  absl::StatusOr<std::vector<std::string>> names = fs->List(dir);
  if (absl::IsNotFound(names.status())) return absl::OkStatus();
  if (!names.ok()) return names.status();
  return names->empty() ? RemoveIfThere(fs, dir) : absl::OkStatus();
}

// Of `file`, a manifest.json or removing.json; nothing if it is not there.
absl::StatusOr<std::optional<v1::CheckpointManifest>> ReadOwnerFile(FileSystem* fs, const std::string& file,
                                                                    const std::string& job_uid) {
  absl::StatusOr<std::string> bytes = ReadFile(fs, file);
  if (absl::IsNotFound(bytes.status())) return std::nullopt;
  if (!bytes.ok()) return bytes.status();
  absl::StatusOr<v1::CheckpointManifest> manifest = DecodeManifest(*bytes, file);
  if (!manifest.ok()) {
    return absl::FailedPreconditionError(
        absl::StrCat(ParentDir(file), " is left alone, because nothing says whose it is (", manifest.status().message(),
                     "); remove it by hand if it is not needed"));
  }
  if (manifest->job_uid() != job_uid) {
    return absl::FailedPreconditionError(absl::StrCat(ParentDir(file), " is left alone: it belongs to job ",
                                                      manifest->job_id(), " with uid ", manifest->job_uid(),
                                                      ", not to uid ", job_uid));
  }
  return *std::move(manifest);
}

absl::StatusOr<bool> IsOfAnotherJob(FileSystem* fs, const std::string& shard, const std::string& job_uid) {
  absl::StatusOr<std::unique_ptr<RandomAccessFile>> file = fs->NewRandomAccessFile(shard);
  if (absl::IsNotFound(file.status())) return false;
  if (!file.ok()) return file.status();
  const absl::StatusOr<std::map<std::string, std::string>> metadata = ReadSafetensorsMetadata(**file, shard);
  // Cut before its header was whole: it holds no data, and says nothing.
  if (absl::IsDataLoss(metadata.status())) return false;
  if (!metadata.ok()) return metadata.status();
  const auto owner = metadata->find("job_uid");
  return owner != metadata->end() && owner->second != job_uid;
}

}  // namespace

absl::StatusOr<std::optional<v1::CheckpointManifest>> ReadOwner(FileSystem* fs, const std::string& dir,
                                                                const std::string& job_uid) {
  MUSTER_ASSIGN_OR_RETURN(std::optional<v1::CheckpointManifest> owner,
                          ReadOwnerFile(fs, JoinPath(dir, kManifestName), job_uid));
  if (owner.has_value()) return owner;
  return ReadOwnerFile(fs, JoinPath(dir, kRemovingName), job_uid);
}

absl::Status RemoveOwnedFolder(FileSystem* fs, const std::string& dir, const std::string& job_uid) {
  const std::string removing_file = JoinPath(dir, kRemovingName);
  MUSTER_ASSIGN_OR_RETURN(const std::optional<v1::CheckpointManifest> owner, ReadOwner(fs, dir, job_uid));
  if (!owner.has_value()) {
    MUSTER_RETURN_IF_ERROR(RemoveFolderIfEmpty(fs, dir));
    MUSTER_ASSIGN_OR_RETURN(const bool still_there, fs->Exists(dir));
    if (!still_there) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        dir, " is left alone: it has no manifest, so nothing says whose it is; remove it by hand if it is not needed"));
  }
  const absl::Status renamed = fs->Rename(JoinPath(dir, kManifestName), removing_file);
  // Not there: a removal that was cut short goes on.
  if (!renamed.ok() && !absl::IsNotFound(renamed)) return renamed;
  // From here on the folder is no checkpoint, also after a crash; only then may its files go.
  MUSTER_RETURN_IF_ERROR(fs->SyncDir(dir));
  for (const v1::ShardFile& file : owner->files()) {
    MUSTER_RETURN_IF_ERROR(RemoveIfThere(fs, JoinPath(dir, file.name())));
  }
  MUSTER_ASSIGN_OR_RETURN(const std::vector<std::string> names, fs->List(dir));
  for (const std::string& name : names) {
    if (IsManifestAsideName(name)) MUSTER_RETURN_IF_ERROR(RemoveIfThere(fs, JoinPath(dir, name)));
  }
  // Or a crash could bring the files back without the record of whose they are.
  MUSTER_RETURN_IF_ERROR(fs->SyncDir(dir));
  MUSTER_RETURN_IF_ERROR(RemoveIfThere(fs, removing_file));
  return RemoveFolderIfEmpty(fs, dir);
}

absl::Status RemoveUnpublishedFolder(FileSystem* fs, const std::string& dir, const std::string& job_uid) {
  absl::StatusOr<std::vector<std::string>> names = fs->List(dir);
  if (absl::IsNotFound(names.status())) return absl::OkStatus();
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    if (job_uid.empty() || !IsShardName(name)) continue;
    MUSTER_ASSIGN_OR_RETURN(const bool foreign, IsOfAnotherJob(fs, JoinPath(dir, name), job_uid));
    if (foreign) return absl::OkStatus();
  }
  for (const std::string& name : *names) {
    if (IsShardName(name) || IsManifestAsideName(name)) {
      MUSTER_RETURN_IF_ERROR(RemoveIfThere(fs, JoinPath(dir, name)));
    }
  }
  return RemoveFolderIfEmpty(fs, dir);
}

}  // namespace muster::worker
