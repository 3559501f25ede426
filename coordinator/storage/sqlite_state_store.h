#ifndef MUSTER_COORDINATOR_STORAGE_SQLITE_STATE_STORE_H_
#define MUSTER_COORDINATOR_STORAGE_SQLITE_STATE_STORE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "coordinator/storage/state_store.h"

namespace muster::coordinator {

// Records in the one table of the SQLite file <data_dir>/state.db; a commit is one transaction, synced before it
// returns. Not thread-safe.
//
// `data_dir` must exist. The store holds the file exclusively until it is destroyed or its process ends, however it
// ends. Errors of Open:
//   FAILED_PRECONDITION  another coordinator has the file, or it is some other program's database
//   PERMISSION_DENIED    the folder or the file cannot be written
//   DATA_LOSS            the file is damaged
//   RESOURCE_EXHAUSTED   the disk is full
// Commit may also return INTERNAL (an I/O error) and DATA_LOSS.
absl::StatusOr<std::unique_ptr<StateStore>> OpenSqliteStateStore(const std::string& data_dir);

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_STORAGE_SQLITE_STATE_STORE_H_
