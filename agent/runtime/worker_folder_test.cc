#include "agent/runtime/worker_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "agent/runtime/retention.h"

namespace muster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Folder() {
  std::string dir = ::testing::TempDir() + "/workers.XXXXXX";
  return ::mkdtemp(dir.data());
}

WorkerKey Key(int rank) { return {{JobId("j-1"), Generation(2)}, rank}; }

TEST(WorkerFolder, SavedAndLoaded_IsTheSame) {
  WorkerFolder folder = WorkerFolder::Of(Folder(), Key(3));
  v1::WorkerStatus status;
  status.set_job_id("j-1");
  status.set_join_blob(std::string("\0\xff", 2));
  ASSERT_TRUE(folder.Create(status).ok());
  EXPECT_EQ(folder.Create(status).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(folder.LoadStatus().value().join_blob(), status.join_blob());
  EXPECT_FALSE(folder.LoadFailure().has_value());
  v1::WorkerFailure failure;
  failure.set_message("bad data");
  ASSERT_TRUE(folder.Save(status, failure).ok());
  EXPECT_EQ(folder.LoadFailure().value().message(), "bad data");
  EXPECT_FALSE(folder.LoadStart().has_value());
  EXPECT_FALSE(folder.LoadExit().has_value());
}

TEST(LastLines, PartsAndStreams_ArePutTogether) {
  const std::string path = Folder() + "/log";
  std::ofstream(path) << "T stdout F one\nT stdout P tw\nT stderr F err\nT stdout F o\nT stdout F \xff\n"
                      << "T stdout F last one\n";
  EXPECT_THAT(LastLines(path, 20), ElementsAre("one", "err", "two", "?", "last one"));
  EXPECT_THAT(LastLines(path, 2), ElementsAre("?", "last one"));
  EXPECT_TRUE(LastLines(path + ".none", 2).empty());
}

TEST(LastLines, LargeLog_OnlyItsTailIsRead) {
  const std::string path = Folder() + "/log";
  {
    std::ofstream file(path);
    for (int i = 0; i < 20'000; ++i) file << "T stdout F line " << i << "\n";
  }
  EXPECT_THAT(LastLines(path, 2), ElementsAre("line 19998", "line 19999"));
}

TEST(Retention, ManyFolders_NewestStayAndUnshippedStayLonger) {
  const std::string workers = Folder();
  std::vector<int> removed;
  Retention retention({.shipped = 2, .unshipped = 3}, [&](const WorkerKey& worker) { removed.push_back(worker.rank); });
  for (int i = 0; i < 4; ++i) {
    WorkerFolder folder = WorkerFolder::Of(workers, Key(i));
    ASSERT_TRUE(folder.Create({}).ok());
    retention.Over(Key(i), folder);
  }
  EXPECT_THAT(removed, ElementsAre(0));
  for (int i = 1; i < 4; ++i) retention.Shipped(Key(i), WorkerFolder::Of(workers, Key(i)));
  EXPECT_THAT(removed, ElementsAre(0, 1));
  EXPECT_FALSE(std::filesystem::exists(WorkerFolder::Of(workers, Key(1)).path()));
  EXPECT_TRUE(std::filesystem::exists(WorkerFolder::Of(workers, Key(3)).path()));
}

}  // namespace
}  // namespace muster::agent
