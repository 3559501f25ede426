#include "coordinator/storage/sqlite_state_store.h"

#include <sqlite3.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/status_macros.h"
#include "coordinator/storage/sqlite_status.h"

namespace muster::coordinator {
namespace {

// Marks the file as ours ("Must"), so that another program's database is not taken for a state file.
constexpr int kApplicationId = 0x4d757374;

struct CloseDb {
  void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
};
using Db = std::unique_ptr<sqlite3, CloseDb>;

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

class SqliteStateStore final : public StateStore {
 public:
  SqliteStateStore(std::string path, Db db) : path_(std::move(path)), db_(std::move(db)) {}

  // Takes the lock and makes the table.
  absl::Status Init() {
    // Before the first access: WAL then needs no shared memory, and the lock is held from the first read on.
    MUSTER_RETURN_IF_ERROR(Run("PRAGMA locking_mode=EXCLUSIVE", "open"));
    MUSTER_ASSIGN_OR_RETURN(const std::string mode, Ask("PRAGMA journal_mode=WAL", "open"));
    if (mode != "wal") {
      return absl::FailedPreconditionError(absl::StrCat("cannot open ", path_,
                                                        ": its file system has no support for a ",
                                                        "write-ahead log; choose a --data_dir on a local disk"));
    }
    MUSTER_RETURN_IF_ERROR(Run("PRAGMA synchronous=FULL", "open"));
    MUSTER_RETURN_IF_ERROR(Run("BEGIN IMMEDIATE", "open"));
    if (absl::Status made = MakeTable(); !made.ok()) {
      Rollback();
      return made;
    }
    if (absl::Status committed = Run("COMMIT", "open"); !committed.ok()) {
      Rollback();
      return committed;
    }
    MUSTER_ASSIGN_OR_RETURN(put_, Prepare("INSERT OR REPLACE INTO records(key, value) VALUES(?1, ?2)"));
    MUSTER_ASSIGN_OR_RETURN(delete_, Prepare("DELETE FROM records WHERE key = ?1"));
    return absl::OkStatus();
  }

  absl::StatusOr<std::map<std::string, std::string>> Load() override {
    MUSTER_ASSIGN_OR_RETURN(const std::string verdict, Ask("PRAGMA quick_check(1)", "read"));
    if (verdict != "ok") return SqliteError(SQLITE_CORRUPT, nullptr, "read", path_);
    MUSTER_ASSIGN_OR_RETURN(const Statement select, Prepare("SELECT key, value FROM records"));
    std::map<std::string, std::string> records;
    int code;
    while ((code = sqlite3_step(select.get())) == SQLITE_ROW) {
      records.emplace(Column(select.get(), 0), Column(select.get(), 1));
    }
    if (code != SQLITE_DONE) return SqliteError(code, db_.get(), "read", path_);
    return records;
  }

  absl::Status Commit(const Batch& batch) override {
    if (batch.puts.empty() && batch.deletes.empty()) return absl::OkStatus();
    MUSTER_RETURN_IF_ERROR(Run("BEGIN IMMEDIATE", "write"));
    absl::Status written = Write(batch);
    if (written.ok()) written = Run("COMMIT", "write");
    if (!written.ok()) Rollback();
    return written;
  }

 private:
  absl::Status MakeTable() {
    MUSTER_ASSIGN_OR_RETURN(const std::string tables, Ask("SELECT count(*) FROM sqlite_schema", "open"));
    if (tables != "0") {
      MUSTER_ASSIGN_OR_RETURN(const std::string id, Ask("PRAGMA application_id", "open"));
      if (id != absl::StrCat(kApplicationId)) {
        return absl::FailedPreconditionError(
            absl::StrCat(path_, " is another program's database; choose another --data_dir"));
      }
      return absl::OkStatus();
    }
    MUSTER_RETURN_IF_ERROR(Run(absl::StrCat("PRAGMA application_id=", kApplicationId), "open"));
    return Run("CREATE TABLE records(key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID", "open");
  }

  absl::Status Write(const Batch& batch) {
    for (const auto& [key, value] : batch.puts) {
      Bind(put_.get(), 1, key);
      Bind(put_.get(), 2, value);
      MUSTER_RETURN_IF_ERROR(StepOnce(put_.get()));
    }
    for (const std::string& key : batch.deletes) {
      Bind(delete_.get(), 1, key);
      MUSTER_RETURN_IF_ERROR(StepOnce(delete_.get()));
    }
    return absl::OkStatus();
  }

  void Rollback() {
    // Some errors roll back by themselves; then there is no transaction and this says so, which is no error.
    sqlite3_exec(db_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  }

  absl::Status Run(const std::string& sql, absl::string_view operation) {
    const int code = sqlite3_exec(db_.get(), sql.c_str(), nullptr, nullptr, nullptr);
    return code == SQLITE_OK ? absl::OkStatus() : SqliteError(code, db_.get(), operation, path_);
  }

  // The first column of the first row.
  absl::StatusOr<std::string> Ask(const std::string& sql, absl::string_view operation) {
    sqlite3_stmt* raw = nullptr;
    int code = sqlite3_prepare_v2(db_.get(), sql.c_str(), -1, &raw, nullptr);
    const Statement statement(raw);
    if (code != SQLITE_OK) return SqliteError(code, db_.get(), operation, path_);
    code = sqlite3_step(statement.get());
    if (code != SQLITE_ROW) return SqliteError(code, db_.get(), operation, path_);
    return Column(statement.get(), 0);
  }

  absl::StatusOr<Statement> Prepare(const char* sql) {
    sqlite3_stmt* raw = nullptr;
    const int code = sqlite3_prepare_v2(db_.get(), sql, -1, &raw, nullptr);
    Statement statement(raw);
    if (code != SQLITE_OK) return SqliteError(code, db_.get(), "read", path_);
    return statement;
  }

  // `bytes` outlives the step.
  static void Bind(sqlite3_stmt* statement, int index, const std::string& bytes) {
    sqlite3_bind_blob64(statement, index, bytes.data(), bytes.size(), SQLITE_STATIC);
  }

  static std::string Column(sqlite3_stmt* statement, int index) {
    const void* bytes = sqlite3_column_blob(statement, index);
    const int size = sqlite3_column_bytes(statement, index);
    return size == 0 ? std::string() : std::string(static_cast<const char*>(bytes), size);
  }

  absl::Status StepOnce(sqlite3_stmt* statement) {
    const int code = sqlite3_step(statement);
    const absl::Status status = code == SQLITE_DONE ? absl::OkStatus() : SqliteError(code, db_.get(), "write", path_);
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return status;
  }

  const std::string path_;
  const Db db_;
  Statement put_;
  Statement delete_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<StateStore>> OpenSqliteStateStore(const std::string& data_dir) {
  const std::string path = absl::StrCat(data_dir, "/state.db");
  sqlite3* raw = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  Db db(raw);
  if (code != SQLITE_OK) return SqliteError(code, db.get(), "open", path);
  auto store = std::make_unique<SqliteStateStore>(path, std::move(db));
  MUSTER_RETURN_IF_ERROR(store->Init());
  return store;
}

}  // namespace muster::coordinator
