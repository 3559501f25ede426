// A coordinator may be killed at any moment: what a commit acknowledged is there, and no batch is there in part.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "coordinator/storage/sqlite_state_store.h"
#include "gtest/gtest.h"

namespace muster::coordinator {
namespace {

constexpr int kKeysABatch = 8;
constexpr int kRounds = 12;

// Batch n writes n under all of its keys, and replaces the keys of batch n-1 by one record that says it was whole.
StateStore::Batch BatchNumber(int64_t n) {
  StateStore::Batch batch;
  for (int k = 0; k < kKeysABatch; ++k) {
    batch.puts.emplace_back(absl::StrCat("now/", n, "/", k), std::string(300 * k, 'v'));
    batch.deletes.push_back(absl::StrCat("now/", n - 1, "/", k));
  }
  batch.puts.emplace_back(absl::StrCat("past/", n), absl::StrCat(n));
  return batch;
}

// Commits from `first` on and writes each acknowledged number to `acks`, until it is killed.
[[noreturn]] void CommitForEver(const std::string& dir, int64_t first, int acks) {
  auto store = OpenSqliteStateStore(dir);
  if (!store.ok()) ::_exit(1);
  for (int64_t n = first;; ++n) {
    if (!(*store)->Commit(BatchNumber(n)).ok()) ::_exit(2);
    if (::write(acks, &n, sizeof(n)) != sizeof(n)) ::_exit(3);
  }
}

// The newest batch that is in the store; checks that it and all before are whole.
int64_t NewestWholeBatch(const std::string& dir) {
  auto store = OpenSqliteStateStore(dir);
  EXPECT_TRUE(store.ok()) << store.status();
  if (!store.ok()) return -1;
  const std::map<std::string, std::string> records = (*store)->Load().value();
  int64_t past = 0;
  int64_t now = 0;
  for (const auto& [key, value] : records) (key[0] == 'p' ? past : now) += 1;
  EXPECT_EQ(now, past == 0 ? 0 : kKeysABatch);
  for (int64_t n = 1; n <= past; ++n) EXPECT_EQ(records.count(absl::StrCat("past/", n)), 1) << n;
  for (int k = 0; past > 0 && k < kKeysABatch; ++k) {
    EXPECT_EQ(records.count(absl::StrCat("now/", past, "/", k)), 1) << past << " " << k;
  }
  return past;
}

TEST(SqliteCrashTest, KilledCommitterLosesNothingAcknowledged) {
  std::string dir = testing::TempDir() + "/crashXXXXXX";
  ASSERT_NE(::mkdtemp(dir.data()), nullptr);
  int64_t newest = 0;
  for (int round = 0; round < kRounds; ++round) {
    int acks[2];
    ASSERT_EQ(::pipe(acks), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::close(acks[0]);
      CommitForEver(dir, newest + 1, acks[1]);
    }
    ::close(acks[1]);
    // Killed after another number of commits each round, somewhere within the next one.
    int64_t acknowledged = 0;
    for (int i = 0; i <= round * 7; ++i) ASSERT_EQ(::read(acks[0], &acknowledged, sizeof(acknowledged)), 8);
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int64_t more;
    while (::read(acks[0], &more, sizeof(more)) == sizeof(more)) acknowledged = more;
    ::close(acks[0]);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended by itself with " << WEXITSTATUS(status);

    newest = NewestWholeBatch(dir);
    // One more than acknowledged: committed, but killed before it could say so.
    EXPECT_GE(newest, acknowledged);
    EXPECT_LE(newest, acknowledged + 1);
  }
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace muster::coordinator
