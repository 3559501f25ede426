#ifndef MUSTER_WORKER_CHECKPOINT_FOLDER_H_
#define MUSTER_WORKER_CHECKPOINT_FOLDER_H_

#include <string>

#include "absl/status/status.h"
#include "common/file_system.h"

namespace muster::worker {

// Removes a checkpoint's folder that belongs to job `job_uid`, or goes on with a removal that was cut short, so that
// at no moment, whatever crashes, a manifest names a file that is gone. Files that are not the checkpoint's stay, and
// the folder with them. Not there: OK. The parent folder is not synced.
//   FAILED_PRECONDITION  of another job, or nothing says whose it is
absl::Status RemoveOwnedFolder(FileSystem* fs, const std::string& dir, const std::string& job_uid);

}  // namespace muster::worker

#endif  // MUSTER_WORKER_CHECKPOINT_FOLDER_H_
