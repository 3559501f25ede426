#include "coordinator/storage/sqlite_state_store.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::coordinator {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using SystemCall = sqlite3_syscall_ptr;

// Replaces one of the system calls that SQLite makes, while it lives.
class FailingCall {
 public:
  FailingCall(const char* name, SystemCall replacement) : name_(name) {
    EXPECT_EQ(Vfs()->xSetSystemCall(Vfs(), name_, replacement), SQLITE_OK);
  }
  ~FailingCall() { Vfs()->xSetSystemCall(Vfs(), name_, nullptr); }

 private:
  static sqlite3_vfs* Vfs() { return sqlite3_vfs_find(nullptr); }
  const char* const name_;
};

ssize_t NoSpace(int, const void*, size_t, off_t) {
  errno = ENOSPC;
  return -1;
}

int ReadOnlyFolder(const char* path, int flags, int mode) {
  if ((flags & O_ACCMODE) != O_RDONLY) {
    errno = EACCES;
    return -1;
  }
  return ::open(path, flags, mode);
}

class SqliteStateStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = testing::TempDir() + "/sqliteXXXXXX";
    ASSERT_NE(::mkdtemp(dir_.data()), nullptr);
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  std::unique_ptr<StateStore> Open() {
    auto store = OpenSqliteStateStore(dir_);
    EXPECT_TRUE(store.ok()) << store.status();
    return store.ok() ? *std::move(store) : nullptr;
  }

  // The error must be one line that names the file.
  void ExpectOneLine(const absl::Status& status) {
    EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(dir_ + "/state.db"), Not(HasSubstr("\n"))));
  }

  std::string dir_;
};

TEST_F(SqliteStateStoreTest, SecondStoreOnTheFolderIsRefused) {
  const auto first = Open();
  const auto second = OpenSqliteStateStore(dir_);
  ASSERT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition) << second.status();
  ExpectOneLine(second.status());
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("in use by another coordinator"));
  EXPECT_TRUE(first->Commit({{{"k", "v"}}, {}}).ok());
}

TEST_F(SqliteStateStoreTest, FolderIsFreeAgainOnceClosed) {
  Open();
  EXPECT_NE(Open(), nullptr);
}

TEST_F(SqliteStateStoreTest, FileThatIsNoDatabaseIsDataLoss) {
  std::ofstream(dir_ + "/state.db") << std::string(8192, 'x');
  const auto store = OpenSqliteStateStore(dir_);
  ASSERT_EQ(store.status().code(), absl::StatusCode::kDataLoss) << store.status();
  ExpectOneLine(store.status());
}

TEST_F(SqliteStateStoreTest, DamagedPagesAreDataLoss) {
  {
    const auto store = Open();
    StateStore::Batch batch;
    for (int i = 0; i < 1000; ++i) batch.puts.emplace_back(std::to_string(i), std::string(200, 'v'));
    ASSERT_TRUE(store->Commit(batch).ok());
  }
  {
    std::fstream file(dir_ + "/state.db", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096 * 3);
    file << std::string(4096 * 4, '\xee');
  }
  const auto store = Open();
  ASSERT_NE(store, nullptr);
  const auto records = store->Load();
  ASSERT_EQ(records.status().code(), absl::StatusCode::kDataLoss) << records.status();
  ExpectOneLine(records.status());
}

TEST_F(SqliteStateStoreTest, OtherProgramsDatabaseIsRefusedAndLeftAlone) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open((dir_ + "/state.db").c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, "CREATE TABLE theirs(x)", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(db);
  const auto store = OpenSqliteStateStore(dir_);
  ASSERT_EQ(store.status().code(), absl::StatusCode::kFailedPrecondition) << store.status();
  ExpectOneLine(store.status());
}

TEST_F(SqliteStateStoreTest, MissingFolderIsNamed) {
  const auto store = OpenSqliteStateStore(dir_ + "/not/there");
  ASSERT_EQ(store.status().code(), absl::StatusCode::kPermissionDenied) << store.status();
  EXPECT_THAT(std::string(store.status().message()), HasSubstr("No such file or directory"));
}

TEST_F(SqliteStateStoreTest, ReadOnlyFolderIsNamed) {
  const FailingCall fault("open", reinterpret_cast<SystemCall>(ReadOnlyFolder));
  const auto store = OpenSqliteStateStore(dir_);
  ASSERT_EQ(store.status().code(), absl::StatusCode::kPermissionDenied) << store.status();
  ExpectOneLine(store.status());
}

TEST_F(SqliteStateStoreTest, FullDiskFailsTheWholeBatchAndTheNextOneWorks) {
  const auto store = Open();
  ASSERT_TRUE(store->Commit({{{"k", "before"}}, {}}).ok());
  {
    const FailingCall fault("pwrite", reinterpret_cast<SystemCall>(NoSpace));
    const FailingCall fault64("pwrite64", reinterpret_cast<SystemCall>(NoSpace));
    const absl::Status status = store->Commit({{{"k", "lost"}, {"k2", "lost"}}, {}});
    ASSERT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    ExpectOneLine(status);
  }
  EXPECT_EQ(store->Load().value(), (std::map<std::string, std::string>{{"k", "before"}}));
  ASSERT_TRUE(store->Commit({{{"k", "after"}}, {}}).ok());
  EXPECT_EQ(store->Load().value(), (std::map<std::string, std::string>{{"k", "after"}}));
}

}  // namespace
}  // namespace muster::coordinator
