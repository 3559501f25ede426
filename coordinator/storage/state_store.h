#ifndef MUSTER_COORDINATOR_STORAGE_STATE_STORE_H_
#define MUSTER_COORDINATOR_STORAGE_STATE_STORE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace muster::coordinator {

// Durable key-value records. One writer; every implementation passes state_store_conformance.
class StateStore {
 public:
  struct Batch {
    std::vector<std::pair<std::string, std::string>> puts;
    std::vector<std::string> deletes;
  };

  virtual ~StateStore() = default;

  // All records. DATA_LOSS when the store is damaged; names the file and the remedy.
  virtual absl::StatusOr<std::map<std::string, std::string>> Load() = 0;

  // All of the batch or nothing, durable when it returns OK. A key both put and deleted: the delete wins. Deleting what
  // is not there is fine. RESOURCE_EXHAUSTED: no space, try again; FAILED_PRECONDITION: another coordinator owns the
  // store, stop.
  virtual absl::Status Commit(const Batch& batch) = 0;
};

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_STORAGE_STATE_STORE_H_
