#ifndef MUSTER_COORDINATOR_STORAGE_SQLITE_STATUS_H_
#define MUSTER_COORDINATOR_STORAGE_SQLITE_STATUS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

struct sqlite3;

namespace muster::coordinator {

// The last error of `db` (null: `code` alone) as one line that names what was done, the file and the remedy.
absl::Status SqliteError(int code, sqlite3* db, absl::string_view operation, const std::string& path);

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_STORAGE_SQLITE_STATUS_H_
