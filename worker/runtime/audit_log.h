#ifndef MUSTER_WORKER_RUNTIME_AUDIT_LOG_H_
#define MUSTER_WORKER_RUNTIME_AUDIT_LOG_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/file_system.h"
#include "worker/train/trainer.h"

namespace muster::worker {

// <dir>/g<generation>-r<rank>.log: a line "generation step position id" for each sample that this rank used.
class AuditLog {
 public:
  static absl::StatusOr<std::unique_ptr<AuditLog>> Open(FileSystem* fs, const std::string& dir, uint64_t generation,
                                                        int rank);
  // Written out when it returns, not synced.
  absl::Status Append(int64_t step, absl::Span<const Trainer::UsedSample> samples);

 private:
  AuditLog(std::unique_ptr<WritableFile> file, uint64_t generation) : file_(std::move(file)), generation_(generation) {}

  const std::unique_ptr<WritableFile> file_;
  const uint64_t generation_;
};

}  // namespace muster::worker

#endif  // MUSTER_WORKER_RUNTIME_AUDIT_LOG_H_
