#include "coordinator/runtime/log_reader.h"

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class LogReaderTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = testing::TempDir() + "/readXXXXXX";
    ASSERT_NE(::mkdtemp(dir_.data()), nullptr);
    store_ = std::make_unique<LogStore>(LogStoreOptions{.dir = dir_, .min_free_bytes = 0}, Clock::Real());
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  void Append(int generation, int rank, const std::string& data) {
    v1::LogChunk chunk;
    chunk.set_job_id("a-1");
    chunk.set_generation(generation);
    chunk.set_rank(rank);
    chunk.set_node_id("n1");
    chunk.set_offset(sizes_[{generation, rank}]);
    chunk.set_data(data);
    const auto kept = store_->Append(chunk);
    ASSERT_TRUE(kept.ok()) << kept.status();
    sizes_[{generation, rank}] = *kept;
  }
  void Line(int generation, int rank, int second, const std::string& text, char tag = 'F') {
    Append(generation, rank,
           absl::StrFormat("2026-01-02T03:%02d:%02dZ stdout %c %s\n", second / 60, second % 60, tag, text));
  }

  std::unique_ptr<LogReader> Reader(LogFilter filter = {}) {
    filter.job = JobId("a-1");
    return std::make_unique<LogReader>(store_.get(), filter);
  }
  static std::vector<std::string> Texts(const absl::StatusOr<v1::LogLines>& lines) {
    EXPECT_TRUE(lines.ok()) << lines.status();
    std::vector<std::string> texts;
    if (!lines.ok()) return texts;
    for (const v1::LogLine& line : lines->lines()) {
      texts.push_back(absl::StrCat("g", line.generation(), " r", line.rank(), " ", line.text()));
    }
    return texts;
  }

  std::string dir_;
  std::unique_ptr<LogStore> store_;
  std::map<std::pair<int, int>, int64_t> sizes_;
};

TEST_F(LogReaderTest, JobWithoutLogsHasNoLines) { EXPECT_THAT(Texts(Reader()->Next(1 << 20)), IsEmpty()); }

TEST_F(LogReaderTest, FilesAreMergedByTime) {
  Line(1, 0, 1, "a");
  Line(1, 0, 4, "d");
  Line(1, 1, 2, "b");
  Line(1, 1, 5, "e");
  Line(2, 0, 3, "c");
  EXPECT_THAT(Texts(Reader()->Next(1 << 20)), ElementsAre("g1 r0 a", "g1 r1 b", "g2 r0 c", "g1 r0 d", "g1 r1 e"));
}

TEST_F(LogReaderTest, FiltersChooseRanksAndGeneration) {
  for (int generation : {1, 2}) {
    for (int rank : {0, 1, 2}) Line(generation, rank, 10 * generation + rank, "x");
  }
  EXPECT_THAT(Texts(Reader({.ranks = {0, 2}})->Next(1 << 20)), ElementsAre("g1 r0 x", "g1 r2 x", "g2 r0 x", "g2 r2 x"));
  EXPECT_THAT(Texts(Reader({.ranks = {1}, .generation = Generation(2)})->Next(1 << 20)), ElementsAre("g2 r1 x"));
}

TEST_F(LogReaderTest, SmallMessagesGiveAllLinesInOrder) {
  std::vector<std::string> want;
  for (int i = 0; i < 3000; ++i) {
    Line(1, i % 3, i, absl::StrCat("line ", i, std::string(50, '.')));
    want.push_back(absl::StrCat("g1 r", i % 3, " line ", i, std::string(50, '.')));
  }
  auto reader = Reader();
  std::vector<std::string> got;
  int messages = 0;
  for (auto texts = Texts(reader->Next(1000)); !texts.empty(); texts = Texts(reader->Next(1000))) {
    got.insert(got.end(), texts.begin(), texts.end());
    ++messages;
  }
  EXPECT_EQ(got, want);
  EXPECT_GT(messages, 100);
}

TEST_F(LogReaderTest, AppendedLinesAndNewFilesFollow) {
  auto reader = Reader();
  Line(1, 0, 1, "a");
  EXPECT_THAT(Texts(reader->Next(1 << 20)), ElementsAre("g1 r0 a"));
  EXPECT_THAT(Texts(reader->Next(1 << 20)), IsEmpty());
  Append(1, 0, "2026-01-02T03:00:03Z stdout F half");
  EXPECT_THAT(Texts(reader->Next(1 << 20)), IsEmpty());
  Append(1, 0, " whole\n");
  Line(2, 1, 2, "b");
  EXPECT_THAT(Texts(reader->Next(1 << 20)), ElementsAre("g2 r1 b", "g1 r0 half whole"));
}

TEST_F(LogReaderTest, LastGivesTheLineWithoutAnEnd) {
  auto reader = Reader();
  Append(1, 0, "2026-01-02T03:00:03Z stdout F cut short");
  EXPECT_THAT(Texts(reader->Next(1 << 20)), IsEmpty());
  EXPECT_THAT(Texts(reader->Last(1 << 20)), ElementsAre("g1 r0 cut short"));
  EXPECT_THAT(Texts(reader->Last(1 << 20)), IsEmpty());
}

TEST_F(LogReaderTest, TailGivesTheNewestLinesOfAllFilesThenFollows) {
  for (int i = 0; i < 1500; ++i) Line(1, i % 2, i, absl::StrCat(i, std::string(60, '.')));
  for (int tail : {1, 3, 700}) {
    auto reader = Reader({.tail = tail});
    const auto texts = Texts(reader->Next(1 << 20));
    ASSERT_EQ(texts.size(), tail);
    for (int i = 0; i < tail; ++i) {
      const int n = 1500 - tail + i;
      EXPECT_EQ(texts[i], absl::StrCat("g1 r", n % 2, " ", n, std::string(60, '.')));
    }
    EXPECT_THAT(Texts(reader->Next(1 << 20)), IsEmpty());
  }
  auto reader = Reader({.tail = 1});
  reader->Next(1 << 20).IgnoreError();
  Line(1, 0, 2000, "new");
  EXPECT_THAT(Texts(reader->Next(1 << 20)), ElementsAre("g1 r0 new"));
}

TEST_F(LogReaderTest, TailCountsJoinedLines) {
  Line(1, 0, 1, "first");
  for (int i = 0; i < 5; ++i) Line(1, 0, 2, absl::StrCat("p", i, " "), 'P');
  Line(1, 0, 3, "end");
  Line(1, 0, 4, "last");
  EXPECT_THAT(Texts(Reader({.tail = 2})->Next(1 << 20)), ElementsAre("g1 r0 p0 p1 p2 p3 p4 end", "g1 r0 last"));
  EXPECT_THAT(Texts(Reader({.tail = 9})->Next(1 << 20)),
              ElementsAre("g1 r0 first", "g1 r0 p0 p1 p2 p3 p4 end", "g1 r0 last"));
}

}  // namespace
}  // namespace muster::coordinator
