#ifndef MUSTER_WORKER_CHECKPOINT_FOLDER_H_
#define MUSTER_WORKER_CHECKPOINT_FOLDER_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/file_system.h"
#include "proto/checkpoint.pb.h"

namespace muster::worker {

// The manifest of a folder that is a checkpoint of job `job_uid`, or that is being removed; nothing if it has neither.
//   FAILED_PRECONDITION  of another job, or its manifest is not sound, so that nothing says whose it is
absl::StatusOr<std::optional<v1::CheckpointManifest>> ReadOwner(FileSystem* fs, const std::string& dir,
                                                                const std::string& job_uid);

// Removes a checkpoint's folder that belongs to job `job_uid`, or goes on with a removal that was cut short, so that
// at no moment, whatever crashes, a manifest names a file that is gone. Files that are not the checkpoint's stay, and
// the folder with them. Not there: OK. The parent folder is not synced.
//   FAILED_PRECONDITION  of another job, or nothing says whose it is
absl::Status RemoveOwnedFolder(FileSystem* fs, const std::string& dir, const std::string& job_uid);

// Removes a folder of shards without a manifest, unless one of them says that it is of another job than `job_uid` (not
// asked if that is empty). Not there: OK.
absl::Status RemoveUnpublishedFolder(FileSystem* fs, const std::string& dir, const std::string& job_uid);

}  // namespace muster::worker

#endif  // MUSTER_WORKER_CHECKPOINT_FOLDER_H_
