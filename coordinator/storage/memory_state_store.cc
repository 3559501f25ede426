#include "coordinator/storage/memory_state_store.h"

namespace muster::coordinator {

absl::StatusOr<std::map<std::string, std::string>> MemoryStateStore::Load() {
  std::lock_guard<std::mutex> lock(disk_->mu_);
  return disk_->records_;
}

absl::Status MemoryStateStore::Commit(const Batch& batch) {
  std::lock_guard<std::mutex> lock(disk_->mu_);
  for (const auto& [key, value] : batch.puts) disk_->records_[key] = value;
  for (const std::string& key : batch.deletes) disk_->records_.erase(key);
  return absl::OkStatus();
}

}  // namespace muster::coordinator
