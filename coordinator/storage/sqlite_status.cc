#include "coordinator/storage/sqlite_status.h"

#include <sqlite3.h>

#include <cstring>

#include "absl/strings/str_cat.h"

namespace muster::coordinator {

absl::Status SqliteError(int code, sqlite3* db, absl::string_view operation, const std::string& path) {
  std::string reason = db != nullptr ? sqlite3_errmsg(db) : sqlite3_errstr(code);
  if (db != nullptr && (code & 0xff) != SQLITE_CORRUPT) {
    // SQLite says "disk I/O error" or "unable to open"; the system's reason is what helps.
    if (const int system = sqlite3_system_errno(db); system != 0) {
      absl::StrAppend(&reason, " (", std::strerror(system), ")");
    }
  }
  const std::string what = absl::StrCat("cannot ", operation, " ", path, ": ", reason);
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::FailedPreconditionError(absl::StrCat(
          path, " is in use by another coordinator; stop that one, or start this one with another --data_dir"));
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::DataLossError(
          absl::StrCat(path, " is damaged (", sqlite3_errstr(code & 0xff),
                       "); put back a copy of it, or move it and its -wal file away to start an empty cluster"));
    case SQLITE_FULL:
      return absl::ResourceExhaustedError(absl::StrCat(what, "; make room on its disk"));
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_AUTH:
      return absl::PermissionDeniedError(
          absl::StrCat(what, "; make the file and its folder writable for this user, or choose another --data_dir"));
    default:
      return absl::InternalError(absl::StrCat(what, "; check its disk"));
  }
}

}  // namespace muster::coordinator
