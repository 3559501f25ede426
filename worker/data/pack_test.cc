#include "worker/data/pack.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/fault_file_system.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/data/token_dataset.h"
#include "worker/data/token_file.h"

namespace muster::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PackTest : public ::testing::Test {
 protected:
  PackTest() {
    std::string dir = ::testing::TempDir() + "/pack_XXXXXX";
    dir_ = ::mkdtemp(dir.data());
    out_ = dir_ + "/out/train.bin";
    std::filesystem::create_directory(dir_ + "/in");
  }
  ~PackTest() override { std::filesystem::remove_all(dir_); }

  std::string Write(const std::string& name, const std::string& content) {
    const std::string path = absl::StrCat(dir_, "/in/", name);
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  static std::string Text(const std::string& path) {
    const std::string bytes = *ReadFile(FileSystem::Posix(), path);
    EXPECT_EQ(bytes.substr(0, 12), std::string("\x88\xD8\x34\x01\x01\x00\x00\x00", 8) + bytes.substr(8, 4));
    uint32_t count = 0;
    std::memcpy(&count, bytes.data() + 8, 4);
    EXPECT_EQ(bytes.size(), 1024 + 2 * count);
    std::string text;
    for (size_t i = 1024; i < bytes.size(); i += 2) {
      EXPECT_EQ(bytes[i + 1], 0);
      text += bytes[i];
    }
    return text;
  }

  absl::StatusOr<PackResult> Pack(const PackOptions& options = {}) {
    return PackBytes(FileSystem::Posix(), {dir_ + "/in"}, out_, options, nullptr);
  }

  std::vector<std::string> Outputs() {
    const auto names = FileSystem::Posix()->List(dir_ + "/out");
    return names.ok() ? *names : std::vector<std::string>();
  }

  std::string dir_;
  std::string out_;
};

TEST_F(PackTest, FolderBecomesOneFileOfItsDocumentsInOrderOfNames) {
  Write("b", "two");
  Write("a", "one\xff");
  Write(".hidden", "no");
  Write("empty", "");
  std::filesystem::create_directory(dir_ + "/in/c");
  Write("c/d", "three");
  int64_t last_done = 0;
  const auto result = PackBytes(FileSystem::Posix(), {dir_ + "/in"}, out_, {}, [&](int64_t done, int64_t total) {
    EXPECT_GT(done, last_done);
    EXPECT_EQ(total, 12);
    last_done = done;
  });
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(last_done, 12);
  EXPECT_EQ(result->documents, 3);
  EXPECT_EQ(result->bytes, 12);
  ASSERT_EQ(result->train.size(), 1);
  EXPECT_EQ(result->train[0].path, out_);
  EXPECT_EQ(result->train[0].tokens, 16);
  EXPECT_EQ(Text(out_), "one\xff\n\ntwo\n\nthree");
  EXPECT_THAT(Outputs(), ElementsAre("train.bin"));
}

TEST_F(PackTest, LinkedFileCountsOnceAndLinkedFolderIsNotFollowed) {
  Write("a", "one");
  std::filesystem::create_symlink("a", dir_ + "/in/b");
  std::filesystem::create_directory_symlink(".", dir_ + "/in/loop");
  ASSERT_TRUE(Pack().ok());
  EXPECT_EQ(Text(out_), "one");
}

TEST_F(PackTest, FilesAndGlobsKeepTheOrderGiven) {
  const std::string a = Write("a.txt", "one");
  Write("b.txt", "two");
  const std::string c = Write("c.txt", "three");
  ASSERT_TRUE(PackBytes(FileSystem::Posix(), {c, dir_ + "/in/*.txt"}, out_, {.separator = "|"}, nullptr).ok());
  EXPECT_EQ(Text(out_), "three|one|two");
}

TEST_F(PackTest, ManyTokensAreSplitEvenlyOverNumberedFiles) {
  Write("a", "0123456789");
  const auto result = Pack({.max_tokens_per_file = 4});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(Outputs(),
              ElementsAre("train-00000-of-00003.bin", "train-00001-of-00003.bin", "train-00002-of-00003.bin"));
  EXPECT_EQ(Text(result->train[0].path), "0123");
  EXPECT_EQ(Text(result->train[1].path), "456");
  EXPECT_EQ(Text(result->train[2].path), "789");
  EXPECT_EQ(result->train[0].tokens, 4);
  EXPECT_TRUE(TokenDataset::Open(dir_ + "/out/train-*.bin", v1::AUTO, 2, 256).ok());
}

TEST_F(PackTest, ValidationGetsTheLastPartOfEachDocument) {
  Write("a", "0123456789");
  Write("b", "ab");
  Write("c", "ABCDEFGHIJKLMNOPQRST");
  const auto result = Pack({.val_fraction = 0.2, .val_output = dir_ + "/out/val.bin"});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(Text(out_), "01234567\n\nab\n\nABCDEFGHIJKLMNOP");
  EXPECT_EQ(Text(dir_ + "/out/val.bin"), "89\n\nQRST");
  ASSERT_EQ(result->val.size(), 1);
  EXPECT_EQ(result->val[0].tokens, 8);
}

TEST_F(PackTest, PiecesOfAMebibyteJoinWithoutASeam) {
  std::string text;
  for (int i = 0; text.size() < (5 << 20) / 2 + 3; ++i) absl::StrAppend(&text, i, " ");
  Write("a", text);
  const auto result = Pack({.max_tokens_per_file = 1'000'000});
  ASSERT_TRUE(result.ok()) << result.status();
  std::string joined;
  for (const PackedFile& file : result->train) joined += Text(file.path);
  EXPECT_TRUE(joined == text);
}

TEST_F(PackTest, AgainReplacesTheFile) {
  Write("a", "one");
  ASSERT_TRUE(Pack().ok());
  Write("a", "other");
  ASSERT_TRUE(Pack().ok());
  EXPECT_EQ(Text(out_), "other");
}

TEST_F(PackTest, LeftoversOfAnotherNumberOfFilesAreRefused) {
  Write("a", "0123456789");
  ASSERT_TRUE(Pack({.max_tokens_per_file = 4}).ok());
  const auto again = Pack({.max_tokens_per_file = 5});
  EXPECT_EQ(again.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(again.status().message()), HasSubstr("train-00000-of-00003.bin"));
  EXPECT_EQ(Pack().status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(Pack({.max_tokens_per_file = 4}).ok());
}

TEST_F(PackTest, BadInputIsRefusedAndNothingIsMade) {
  const auto refused = [&](const std::vector<std::string>& inputs, const PackOptions& options = {}) {
    const auto result = PackBytes(FileSystem::Posix(), inputs, out_, options, nullptr);
    EXPECT_TRUE(Outputs().empty());
    return result.status().code();
  };
  const std::string a = Write("a", "text");
  const std::string empty = Write("empty", "");
  EXPECT_EQ(refused({}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(refused({empty}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(refused({dir_ + "/none"}), absl::StatusCode::kNotFound);
  EXPECT_EQ(refused({dir_ + "/none*"}), absl::StatusCode::kNotFound);
  EXPECT_EQ(refused({"/dev/null"}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(refused({a}, {.max_tokens_per_file = -1}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(refused({a}, {.val_fraction = 0.5}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(refused({a}, {.val_fraction = 1, .val_output = dir_ + "/out/v"}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(refused({a}, {.val_fraction = 0.01, .val_output = dir_ + "/out/v"}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(refused({a}, {.val_fraction = 0.5, .val_output = out_}), absl::StatusCode::kInvalidArgument);
}

TEST_F(PackTest, OutputThatIsAnInputIsRefused) {
  const std::string a = Write("a", "text");
  EXPECT_EQ(PackBytes(FileSystem::Posix(), {a}, a, {}, nullptr).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(*ReadFile(FileSystem::Posix(), a), "text");
}

TEST_F(PackTest, TokenFileAmongTheInputsIsRefused) {
  Write("a", std::string(2000, 'x'));
  ASSERT_TRUE(Pack().ok());
  const auto again = PackBytes(FileSystem::Posix(), {out_}, dir_ + "/out/twice.bin", {}, nullptr);
  EXPECT_EQ(again.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Outputs(), ElementsAre("train.bin"));
}

// Inputs on the disk; outputs in memory, where a full disk can be had.
TEST_F(PackTest, FailureOfAnyFileOperationLeavesTheOldFilesAndNothingNew) {
  const std::string a = Write("a", std::string(200'000, 'x'));
  const PackOptions options = {.max_tokens_per_file = 70'000, .val_fraction = 0.1, .val_output = "/out/val.bin"};
  for (int64_t n = 1;; ++n) {
    FaultFileSystem fs;
    ASSERT_TRUE(fs.CreateDirs("/out").ok());
    fs.AddFile(a, std::string(200'000, 'x'));
    const int64_t before = fs.operations();
    fs.FailOnce(before + n, absl::ResourceExhaustedError("cannot write: no space"));
    const auto result = PackBytes(&fs, {a}, "/out/train.bin", options, nullptr);
    if (result.ok()) {
      EXPECT_LT(fs.operations(), before + n) << "an error was swallowed";
      EXPECT_GT(n, 10);
      break;
    }
    // What is visible after an error in the renames or after them is whole.
    const std::vector<std::string> names = *fs.List("/out");
    for (const std::string& name : names) {
      EXPECT_THAT(name, testing::Not(HasSubstr(".tmp"))) << n;
      EXPECT_TRUE(TokenFile::Open(&fs, "/out/" + name, v1::AUTO).ok()) << n;
    }
  }
}

TEST_F(PackTest, StatCountsTokensOfEveryFormat) {
  Write("a", "abz");
  ASSERT_TRUE(Pack().ok());
  const auto stats = StatTokens(FileSystem::Posix(), dir_ + "/out/*.bin", v1::AUTO);
  ASSERT_TRUE(stats.ok()) << stats.status();
  EXPECT_EQ(stats->tokens, 3);
  EXPECT_EQ(stats->max_token, 'z');
  ASSERT_EQ(stats->files.size(), 1);
  EXPECT_EQ(stats->files[0].bytes_per_token, 2);
  Write("raw", std::string("\x01\x00\x34\x12", 4));
  const auto raw = StatTokens(FileSystem::Posix(), dir_ + "/in/raw", v1::RAW_U16);
  ASSERT_TRUE(raw.ok()) << raw.status();
  EXPECT_EQ(raw->max_token, 0x1234);
  EXPECT_EQ(StatTokens(FileSystem::Posix(), dir_ + "/in/a", v1::AUTO).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace muster::worker
