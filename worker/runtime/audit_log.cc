#include "worker/runtime/audit_log.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace muster::worker {

absl::StatusOr<std::unique_ptr<AuditLog>> AuditLog::Open(FileSystem* fs, const std::string& dir, uint64_t generation,
                                                         int rank) {
  const auto explained = [](const absl::Status& s) {
    return absl::Status(s.code(), absl::StrCat("train.sample_log_dir: ", s.message(),
                                               "; name a folder that the workers' user may write to"));
  };
  if (absl::Status s = fs->CreateDirs(dir); !s.ok()) return explained(s);
  auto file = fs->NewWritableFile(absl::StrCat(dir, "/g", generation, "-r", rank, ".log"));
  if (!file.ok()) return explained(file.status());
  return std::unique_ptr<AuditLog>(new AuditLog(*std::move(file), generation));
}

absl::Status AuditLog::Append(int64_t step, absl::Span<const Trainer::UsedSample> samples) {
  std::string lines;
  for (const Trainer::UsedSample& s : samples) {
    absl::StrAppend(&lines, generation_, " ", step, " ", s.position, " ", s.id, "\n");
  }
  return file_->Append(lines);
}

}  // namespace muster::worker
