#include "coordinator/runtime/log_store.h"

#include <cstdlib>
#include <filesystem>
#include <memory>

#include "common/file_system.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::coordinator {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class LogStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = testing::TempDir() + "/logsXXXXXX";
    ASSERT_NE(::mkdtemp(dir_.data()), nullptr);
    options_.dir = dir_ + "/logs";
    options_.min_free_bytes = 0;
    Reopen();
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  void Reopen() { store_ = std::make_unique<LogStore>(options_, &clock_); }

  v1::LogChunk Chunk(int64_t offset, const std::string& data, bool eof = false) {
    v1::LogChunk chunk;
    chunk.set_job_id("a-1");
    chunk.set_generation(1);
    chunk.set_rank(0);
    chunk.set_node_id("n1");
    chunk.set_offset(offset);
    chunk.set_data(data);
    chunk.set_eof(eof);
    return chunk;
  }
  int64_t Append(int64_t offset, const std::string& data, bool eof = false) {
    const auto kept = store_->Append(Chunk(offset, data, eof));
    EXPECT_TRUE(kept.ok()) << kept.status();
    return kept.value_or(-1);
  }
  std::string Content() { return ReadFile(FileSystem::Posix(), options_.dir + "/a-1/g1-r0.n1.log").value(); }

  FakeClock clock_;
  std::string dir_;
  LogStoreOptions options_;
  std::unique_ptr<LogStore> store_;
};

TEST_F(LogStoreTest, ChunksAreAppended) {
  EXPECT_EQ(Append(0, "one\n"), 4);
  EXPECT_EQ(Append(4, "two\n"), 8);
  EXPECT_EQ(Content(), "one\ntwo\n");
}

TEST_F(LogStoreTest, RepeatedAndOverlappingChunksAddOnlyWhatIsNew) {
  Append(0, "one\n");
  EXPECT_EQ(Append(0, "one\n"), 4);
  EXPECT_EQ(Append(2, "e\ntwo\n"), 8);
  EXPECT_EQ(Content(), "one\ntwo\n");
}

TEST_F(LogStoreTest, ChunkBeyondAGapIsDroppedAndTheWantedOffsetTold) {
  EXPECT_EQ(Append(100, "late"), 0);
  Append(0, "one\n");
  EXPECT_EQ(Append(5, "late"), 4);
  EXPECT_EQ(Content(), "one\n");
}

TEST_F(LogStoreTest, RestartGoesOnAtTheFilesEnd) {
  Append(0, "one\n");
  Reopen();
  EXPECT_EQ(Append(0, ""), 4);
  EXPECT_EQ(Append(4, "two\n"), 8);
  EXPECT_EQ(Content(), "one\ntwo\n");
}

TEST_F(LogStoreTest, LimitCutsTheFileSaysSoAndAcknowledgesTheRest) {
  options_.max_file_bytes = 10;
  Reopen();
  EXPECT_EQ(Append(0, "12345678"), 8);
  EXPECT_EQ(Append(8, "90abcdef"), 16);
  const std::string cut = Content();
  EXPECT_THAT(cut, StartsWith("1234567890\n"));
  EXPECT_THAT(cut, HasSubstr(" stderr F [muster] this log has reached"));
  EXPECT_EQ(Append(16, std::string(1000, 'x'), true), 1016);
  Reopen();
  EXPECT_EQ(Append(5000, "more"), 5004);
  EXPECT_EQ(Content(), cut);
}

TEST_F(LogStoreTest, FileOfExactlyTheLimitIsNotCut) {
  options_.max_file_bytes = 8;
  Reopen();
  EXPECT_EQ(Append(0, "12345678", true), 8);
  EXPECT_EQ(Content(), "12345678");
  EXPECT_TRUE(store_->SawEnd(JobId("a-1"), Generation(1), 0));
}

TEST_F(LogStoreTest, EndCountsOnlyOnceAllBeforeItIsKept) {
  Append(100, "late", true);
  EXPECT_FALSE(store_->SawEnd(JobId("a-1"), Generation(1), 0));
  Append(0, "one\n", true);
  EXPECT_TRUE(store_->SawEnd(JobId("a-1"), Generation(1), 0));
  EXPECT_FALSE(store_->SawEnd(JobId("a-1"), Generation(2), 0));
}

TEST_F(LogStoreTest, NoRoomIsToldAndKeepsTheOffset) {
  Append(0, "one\n");
  options_.min_free_bytes = int64_t{1} << 62;
  Reopen();
  const auto kept = store_->Append(Chunk(4, "two\n"));
  ASSERT_EQ(kept.status().code(), absl::StatusCode::kResourceExhausted) << kept.status();
  EXPECT_THAT(std::string(kept.status().message()), HasSubstr(options_.dir));
  EXPECT_EQ(Content(), "one\n");
}

TEST_F(LogStoreTest, PathTricksWriteNothing) {
  v1::LogChunk chunk = Chunk(0, "x");
  chunk.set_job_id("../../a");
  EXPECT_EQ(store_->Append(chunk).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(std::filesystem::exists(options_.dir));
}

TEST_F(LogStoreTest, FilesAreListedInOrder) {
  for (const auto& [generation, rank] : std::vector<std::pair<int, int>>{{10, 0}, {2, 1}, {2, 0}}) {
    v1::LogChunk chunk = Chunk(0, "x\n");
    chunk.set_generation(generation);
    chunk.set_rank(rank);
    ASSERT_TRUE(store_->Append(chunk).ok());
  }
  const auto files = store_->Files(JobId("a-1")).value();
  ASSERT_EQ(files.size(), 3);
  EXPECT_EQ(files[0].ToString(), "g2-r0.n1.log");
  EXPECT_EQ(files[1].ToString(), "g2-r1.n1.log");
  EXPECT_EQ(files[2].ToString(), "g10-r0.n1.log");
  EXPECT_TRUE(store_->Files(JobId("none-2"))->empty());
}

TEST_F(LogStoreTest, AppendedTellsOfNewBytesAndTheEnd) {
  int calls = 0;
  const auto subscription = store_->appended().Subscribe(JobId("a-1"), [&] { ++calls; });
  Append(0, "one\n");
  EXPECT_EQ(calls, 1);
  Append(0, "one\n");
  EXPECT_EQ(calls, 1);
  Append(4, "", true);
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace muster::coordinator
