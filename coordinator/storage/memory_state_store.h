#ifndef MUSTER_COORDINATOR_STORAGE_MEMORY_STATE_STORE_H_
#define MUSTER_COORDINATOR_STORAGE_MEMORY_STATE_STORE_H_

#include <map>
#include <mutex>
#include <string>

#include "coordinator/storage/state_store.h"

namespace muster::coordinator {

// Records in memory, for tests. Several stores made from one Disk see the same records one after the other, as
// processes would that open the same file.
class MemoryStateStore final : public StateStore {
 public:
  class Disk {
   private:
    friend class MemoryStateStore;
    std::mutex mu_;
    std::map<std::string, std::string> records_;  // guarded by mu_
  };

  // `disk` outlives the store.
  explicit MemoryStateStore(Disk* disk) : disk_(disk) {}

  absl::StatusOr<std::map<std::string, std::string>> Load() override;
  absl::Status Commit(const Batch& batch) override;

 private:
  Disk* const disk_;
};

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_STORAGE_MEMORY_STATE_STORE_H_
