#ifndef MUSTER_WORKER_CHECKPOINT_REMEDY_H_
#define MUSTER_WORKER_CHECKPOINT_REMEDY_H_

#include <string>

#include "absl/status/status.h"

namespace muster::worker {

// What the file system says of a job's checkpoint folder, and for a full disk or missing permission what to do about
// it.
absl::Status WithRemedy(const absl::Status& status, const std::string& job_dir);

}  // namespace muster::worker

#endif  // MUSTER_WORKER_CHECKPOINT_REMEDY_H_
