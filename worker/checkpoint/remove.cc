#include <optional>
#include <string>
#include <vector>

#include "common/status_macros.h"
#include "worker/checkpoint/checkpoint.h"
#include "worker/checkpoint/folder.h"
#include "worker/checkpoint/layout.h"

namespace muster::worker {
namespace {

absl::Status RemoveAbandonedSave(FileSystem* fs, const std::string& job_dir, const SaveDirParts& parts,
                                 const std::string& job_uid) {
  const std::string dir = JoinPath(job_dir, SaveDirName(parts.step, parts.generation));
  MUSTER_ASSIGN_OR_RETURN(const bool committed, fs->Exists(JoinPath(dir, kManifestName)));
  MUSTER_ASSIGN_OR_RETURN(const bool removing, fs->Exists(JoinPath(dir, kRemovingName)));
  if (!committed && !removing) return RemoveUnpublishedFolder(fs, dir, job_uid);
  absl::Status status;
  if (!committed) {
    status = RemoveOwnedFolder(fs, dir, job_uid);
  } else {
    // Waits for its publication, unless a newer generation's has taken its place.
    const absl::StatusOr<v1::CheckpointManifest> published =
        ReadManifest(fs, JoinPath(job_dir, StepDirName(parts.step)));
    if (published.ok() && published->job_uid() == job_uid && published->generation() > parts.generation) {
      status = RemoveOwnedFolder(fs, dir, job_uid);
    }
  }
  // Another job's.
  return absl::IsFailedPrecondition(status) ? absl::OkStatus() : status;
}

}  // namespace

absl::Status RemoveCheckpoint(FileSystem* fs, const std::string& job_dir, int64_t step, const std::string& job_uid) {
  absl::StatusOr<std::vector<std::string>> names = fs->List(job_dir);
  if (absl::IsNotFound(names.status())) return absl::OkStatus();
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    const std::string dir = JoinPath(job_dir, name);
    if (name == StepDirName(step)) {
      MUSTER_RETURN_IF_ERROR(RemoveOwnedFolder(fs, dir, job_uid));
      continue;
    }
    // Committed, but its publishing was cut short between manifest and rename; or replaced and not yet gone.
    const std::optional<SaveDirParts> parts = ParseSaveDirName(name);
    if (!parts.has_value() || parts->step != step) continue;
    MUSTER_ASSIGN_OR_RETURN(const bool committed, fs->Exists(JoinPath(dir, kManifestName)));
    MUSTER_ASSIGN_OR_RETURN(const bool removing, fs->Exists(JoinPath(dir, kRemovingName)));
    if (committed || removing) MUSTER_RETURN_IF_ERROR(RemoveOwnedFolder(fs, dir, job_uid));
  }
  return fs->SyncDir(job_dir);
}

absl::Status RemoveAbandonedSaves(FileSystem* fs, const std::string& job_dir, uint64_t generation,
                                  const std::string& job_uid) {
  absl::StatusOr<std::vector<std::string>> names = fs->List(job_dir);
  if (absl::IsNotFound(names.status())) return absl::OkStatus();
  if (!names.ok()) return names.status();
  bool changed = false;
  for (const std::string& name : *names) {
    const std::optional<SaveDirParts> parts = ParseSaveDirName(name);
    if (!parts.has_value() || parts->generation >= generation) continue;
    MUSTER_RETURN_IF_ERROR(RemoveAbandonedSave(fs, job_dir, *parts, job_uid));
    changed = true;
  }
  return changed ? fs->SyncDir(job_dir) : absl::OkStatus();
}

}  // namespace muster::worker
