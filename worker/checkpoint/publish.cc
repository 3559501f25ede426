#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/checkpoint_manifest/merge.h"
#include "common/random_id.h"
#include "common/status_macros.h"
#include "worker/checkpoint/checkpoint.h"
#include "worker/checkpoint/folder.h"
#include "worker/checkpoint/layout.h"
#include "worker/checkpoint/manifest.h"
#include "worker/checkpoint/remedy.h"
#include "worker/checkpoint/shard_file.h"

namespace muster::worker {
namespace {

// Whether `final_dir` is this very checkpoint already.
absl::StatusOr<bool> IsPublished(FileSystem* fs, const std::string& final_dir, const v1::CheckpointManifest& manifest) {
  const absl::StatusOr<v1::CheckpointManifest> published = ReadManifest(fs, final_dir);
  if (!published.ok()) {
    const absl::Status& status = published.status();
    // Not there; or not sound or of a newer format, which is refused when room is made.
    if (absl::IsNotFound(status) || absl::IsDataLoss(status) || absl::IsFailedPrecondition(status)) return false;
    return status;
  }
  if (published->job_uid() != manifest.job_uid()) return false;
  if (published->generation() > manifest.generation()) {
    return absl::FailedPreconditionError(absl::StrCat(final_dir, " was published by generation ",
                                                      published->generation(), ", after generation ",
                                                      manifest.generation(), "; it is kept"));
  }
  return published->generation() == manifest.generation();
}

absl::Status InTheWay(const v1::CheckpointManifest& manifest, absl::string_view what) {
  return absl::AlreadyExistsError(absl::StrCat("cannot publish step ", manifest.step(), " of job ", manifest.job_id(),
                                               ": ", what, "; move it away, or use another checkpoint.dir"));
}

// An older generation's folder, or what is left of one, goes. Somebody else's is refused.
absl::Status MakeRoom(FileSystem* fs, const std::string& job_dir, const std::string& final_dir,
                      const v1::CheckpointManifest& manifest) {
  const std::string& job_uid = manifest.job_uid();
  const absl::StatusOr<std::optional<v1::CheckpointManifest>> owner = ReadOwner(fs, final_dir, job_uid);
  if (absl::IsFailedPrecondition(owner.status())) return InTheWay(manifest, owner.status().message());
  if (!owner.ok()) return owner.status();
  if (!owner->has_value()) {
    const absl::StatusOr<std::vector<std::string>> names = fs->List(final_dir);
    if (absl::IsNotFound(names.status())) return absl::OkStatus();
    if (!names.ok() || names->empty()) return names.status();
    return InTheWay(manifest, absl::StrCat(final_dir, " is there and has no manifest that says whose it is"));
  }
  const uint64_t older = (*owner)->generation();
  if (older >= manifest.generation()) return InTheWay(manifest, absl::StrCat(final_dir, " is being removed"));

  // Back to the name that it had before it was published, at once and whole, and only then removed: another publisher
  // may be at the same, and what is removed name by name where that one publishes would be its files.
  const std::string aside = JoinPath(job_dir, SaveDirName(manifest.step(), older));
  const absl::Status removed = RemoveOwnedFolder(fs, aside, job_uid);
  if (absl::IsFailedPrecondition(removed)) {
    MUSTER_RETURN_IF_ERROR(RemoveUnpublishedFolder(fs, aside, job_uid));
  } else {
    MUSTER_RETURN_IF_ERROR(removed);
  }
  MUSTER_RETURN_IF_ERROR(fs->Rename(final_dir, aside));
  MUSTER_ASSIGN_OR_RETURN(const std::optional<v1::CheckpointManifest> moved, ReadOwner(fs, aside, job_uid));
  if (moved.has_value() && moved->generation() != older) {
    // Between the look and the rename the other one was done.
    MUSTER_RETURN_IF_ERROR(fs->Rename(aside, final_dir));
    return absl::AbortedError(absl::StrCat(final_dir, " has just been published by another process"));
  }
  return RemoveOwnedFolder(fs, aside, job_uid);
}

absl::Status PublishSave(FileSystem* fs, const std::string& save_dir, const std::string& final_dir,
                         const v1::CheckpointManifest& manifest) {
  MUSTER_ASSIGN_OR_RETURN(const std::string json, EncodeManifest(manifest));
  MUSTER_ASSIGN_OR_RETURN(const bool saved, fs->Exists(save_dir));
  if (!saved) {
    return absl::NotFoundError(absl::StrCat(save_dir, " is gone, so step ", manifest.step(),
                                            " cannot be published; check that every node of the job sees ",
                                            ParentDir(save_dir)));
  }
  for (const v1::ShardFile& shard : manifest.files()) {
    // A manifest must not be written over a hole.
    MUSTER_RETURN_IF_ERROR(OpenShard(fs, JoinPath(save_dir, shard.name()), shard).status());
  }
  MUSTER_RETURN_IF_ERROR(MakeRoom(fs, ParentDir(save_dir), final_dir, manifest));
  // Aside under a name of its own: two publishers that write one file would cut each other's bytes.
  MUSTER_RETURN_IF_ERROR(WriteFileAtomically(fs, JoinPath(save_dir, kManifestName), json,
                                             JoinPath(save_dir, ManifestAsideName(RandomId()))));
  return fs->Rename(save_dir, final_dir);
}

}  // namespace

std::string JobCheckpointDir(const std::string& spec_dir, const std::string& job_id) {
  return JoinPath(spec_dir, job_id);
}

absl::StatusOr<v1::CheckpointManifest> MergeShardReports(const std::vector<v1::ShardReport>& reports) {
  return ::muster::MergeShardReports(reports);
}

absl::StatusOr<std::string> Publish(FileSystem* fs, const std::string& job_dir,
                                    const v1::CheckpointManifest& manifest) {
  const std::string final_dir = JoinPath(job_dir, StepDirName(manifest.step()));
  const std::string save_dir = JoinPath(job_dir, SaveDirName(manifest.step(), manifest.generation()));
  MUSTER_RETURN_IF_ERROR(ValidateManifest(manifest, absl::StrCat("manifest of ", final_dir)));
  MUSTER_ASSIGN_OR_RETURN(const bool published, IsPublished(fs, final_dir, manifest));
  absl::Status status = published ? absl::OkStatus() : PublishSave(fs, save_dir, final_dir, manifest);
  if (absl::IsNotFound(status) || absl::IsAlreadyExists(status) || absl::IsAborted(status)) {
    // Another publisher was faster: a second thread of this worker, or the rank 0 of an older generation, fenced but
    // not dead yet on its node.
    const absl::StatusOr<bool> by_another = IsPublished(fs, final_dir, manifest);
    if (by_another.ok() && *by_another) status = absl::OkStatus();
  }
  // Also if it was published before: the crash may have come before this.
  if (status.ok()) status = fs->SyncDir(job_dir);
  if (!status.ok()) return WithRemedy(status, job_dir);
  return final_dir;
}

}  // namespace muster::worker
