#ifndef MUSTER_WORKER_RUNTIME_WORK_FOLDER_H_
#define MUSTER_WORKER_RUNTIME_WORK_FOLDER_H_

#include <string>

#include "absl/status/status.h"
#include "common/file_system.h"
#include "proto/worker.pb.h"

namespace muster::worker {

// Creates the job's checkpoint folder if need be, and writes and removes a small file in it. The error names the folder
// and the remedy.
absl::Status CheckWritable(FileSystem* fs, const std::string& job_dir, const v1::WorkerRef& worker);

}  // namespace muster::worker

#endif  // MUSTER_WORKER_RUNTIME_WORK_FOLDER_H_
