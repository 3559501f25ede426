#include "common/file_system.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "common/fault_file_system.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What every implementation promises. The parameter: whether it is the machine's.
class FileSystemConformance : public ::testing::TestWithParam<bool> {
 protected:
  FileSystemConformance() {
    std::string dir = ::testing::TempDir() + "/fs_XXXXXX";
    root_ = ::mkdtemp(dir.data());
    if (GetParam()) {
      fs_ = FileSystem::Posix();
    } else {
      fake_ = std::make_unique<FaultFileSystem>();
      fs_ = fake_.get();
      EXPECT_TRUE(fs_->CreateDirs(root_).ok());
    }
  }
  ~FileSystemConformance() override { std::filesystem::remove_all(root_); }

  void Write(const std::string& path, const std::string& content) {
    auto file = fs_->NewWritableFile(path);
    ASSERT_TRUE(file.ok()) << file.status();
    ASSERT_TRUE((*file)->Append(content).ok());
    ASSERT_TRUE((*file)->Sync().ok());
    ASSERT_TRUE((*file)->Close().ok());
  }

  std::string root_;
  std::unique_ptr<FaultFileSystem> fake_;
  FileSystem* fs_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(All, FileSystemConformance, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Posix" : "Fault"; });

TEST_P(FileSystemConformance, FileWrittenInPiecesReadsBack) {
  auto file = fs_->NewWritableFile(root_ + "/a");
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->Append("one ").ok());
  ASSERT_TRUE((*file)->Append("").ok());
  ASSERT_TRUE((*file)->Append("two").ok());
  ASSERT_TRUE((*file)->Close().ok());
  EXPECT_EQ(*ReadFile(fs_, root_ + "/a"), "one two");
  Write(root_ + "/a", "new");
  EXPECT_EQ(*ReadFile(fs_, root_ + "/a"), "new");
}

TEST_P(FileSystemConformance, ReadBeyondTheEndIsOutOfRange) {
  Write(root_ + "/a", "12345");
  auto file = fs_->NewRandomAccessFile(root_ + "/a");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(*(*file)->Size(), 5);
  char out[5];
  EXPECT_TRUE((*file)->Read(3, 2, out).ok());
  EXPECT_EQ(std::string(out, 2), "45");
  EXPECT_TRUE((*file)->Read(5, 0, out).ok());
  EXPECT_EQ((*file)->Read(3, 3, out).code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ((*file)->Read(9, 1, out).code(), absl::StatusCode::kOutOfRange);
}

TEST_P(FileSystemConformance, MissingThingsAreNotFoundAndNamed) {
  const std::string path = root_ + "/none/a";
  for (const absl::Status& status :
       {fs_->NewWritableFile(path).status(), fs_->NewRandomAccessFile(path).status(), fs_->List(path).status(),
        fs_->Rename(path, root_ + "/b"), fs_->Remove(path), fs_->SyncDir(path), ReadFile(fs_, path).status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(path));
  }
  EXPECT_FALSE(*fs_->Exists(path));
  Write(root_ + "/file", "");
  EXPECT_FALSE(*fs_->Exists(root_ + "/file/a"));
}

TEST_P(FileSystemConformance, CreateDirsMakesParentsAndMayBeRepeated) {
  EXPECT_TRUE(fs_->CreateDirs(root_ + "/a/b/c").ok());
  EXPECT_TRUE(fs_->CreateDirs(root_ + "/a/b/c").ok());
  EXPECT_TRUE(*fs_->Exists(root_ + "/a/b/c"));
  Write(root_ + "/a/file", "");
  EXPECT_EQ(fs_->CreateDirs(root_ + "/a/file").code(), absl::StatusCode::kAlreadyExists);
}

TEST_P(FileSystemConformance, ListIsSorted) {
  Write(root_ + "/b", "");
  Write(root_ + "/a", "");
  ASSERT_TRUE(fs_->CreateDirs(root_ + "/C/x").ok());
  EXPECT_THAT(*fs_->List(root_), ElementsAre("C", "a", "b"));
}

TEST_P(FileSystemConformance, RenameReplacesFilesAndEmptyFoldersOnly) {
  Write(root_ + "/a", "new");
  Write(root_ + "/b", "old");
  EXPECT_TRUE(fs_->Rename(root_ + "/a", root_ + "/b").ok());
  EXPECT_EQ(*ReadFile(fs_, root_ + "/b"), "new");
  EXPECT_FALSE(*fs_->Exists(root_ + "/a"));
  ASSERT_TRUE(fs_->CreateDirs(root_ + "/from").ok());
  ASSERT_TRUE(fs_->CreateDirs(root_ + "/empty").ok());
  ASSERT_TRUE(fs_->CreateDirs(root_ + "/full/x").ok());
  Write(root_ + "/from/file", "1");
  EXPECT_EQ(fs_->Rename(root_ + "/from", root_ + "/full").code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(fs_->Rename(root_ + "/from", root_ + "/empty").ok());
  EXPECT_EQ(*ReadFile(fs_, root_ + "/empty/file"), "1");
}

TEST_P(FileSystemConformance, RemoveTakesFilesAndEmptyFoldersOnly) {
  ASSERT_TRUE(fs_->CreateDirs(root_ + "/full/x").ok());
  Write(root_ + "/a", "");
  EXPECT_TRUE(fs_->Remove(root_ + "/a").ok());
  EXPECT_EQ(fs_->Remove(root_ + "/full").code(), absl::StatusCode::kAlreadyExists);
  EXPECT_TRUE(fs_->Remove(root_ + "/full/x").ok());
  EXPECT_TRUE(fs_->Remove(root_ + "/full").ok());
  EXPECT_TRUE(fs_->List(root_)->empty());
}

TEST_P(FileSystemConformance, OpenFileOutlivesItsName) {
  Write(root_ + "/a", "12345");
  auto file = fs_->NewRandomAccessFile(root_ + "/a");
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(fs_->Remove(root_ + "/a").ok());
  char out[5];
  EXPECT_TRUE((*file)->Read(0, 5, out).ok());
}

TEST_P(FileSystemConformance, WriteFileAtomicallyLeavesOnlyTheFile) {
  ASSERT_TRUE(WriteFileAtomically(fs_, root_ + "/a", "one").ok());
  ASSERT_TRUE(WriteFileAtomically(fs_, root_ + "/a", "two").ok());
  EXPECT_EQ(*ReadFile(fs_, root_ + "/a"), "two");
  EXPECT_THAT(*fs_->List(root_), ElementsAre("a"));
}

TEST(PosixFileSystem, ErrorsHaveTheirCodes) {
  EXPECT_EQ(FileSystem::Posix()->NewWritableFile("/proc/none/a").status().code(), absl::StatusCode::kNotFound);
  if (::access("/dev/full", W_OK) == 0) {
    auto file = FileSystem::Posix()->NewWritableFile("/dev/full");
    ASSERT_TRUE(file.ok());
    EXPECT_EQ((*file)->Append("x").code(), absl::StatusCode::kResourceExhausted);
  }
}

TEST(WriteFileAtomically, AnyFaultOrCrashLeavesOldOrNew) {
  for (const auto crash : {FaultFileSystem::Crash::kProcess, FaultFileSystem::Crash::kMachineDropsUnsynced,
                           FaultFileSystem::Crash::kMachineKeepsSome}) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      for (int64_t n = 1;; ++n) {
        FaultFileSystem fs;
        fs.AddFile("/d/a", "old content");
        fs.FailFrom(n, absl::InternalError("gone"));
        const absl::Status status = WriteFileAtomically(&fs, "/d/a", "new content");
        fs.Restart(crash, seed);
        const std::string content = *ReadFile(&fs, "/d/a");
        if (status.ok()) {
          ASSERT_EQ(content, "new content");
          break;
        }
        ASSERT_TRUE(content == "old content" || content == "new content") << content;
      }
    }
  }
}

TEST(WriteFileAtomically, FailureLeavesNothingAside) {
  for (int64_t n = 1; n <= 6; ++n) {
    FaultFileSystem fs;
    fs.AddFile("/d/a", "old");
    fs.FailOnce(n, absl::ResourceExhaustedError("full"));
    EXPECT_EQ(WriteFileAtomically(&fs, "/d/a", "new").code(), absl::StatusCode::kResourceExhausted) << n;
    EXPECT_THAT(*fs.List("/d"), ElementsAre("a")) << n;
  }
}

// The model itself: what is not synced is lost, what is synced is not.
TEST(FaultFileSystem, CrashLosesWhatIsNotSynced) {
  FaultFileSystem fs;
  fs.AddFile("/d/a", "old");
  auto file = fs.NewWritableFile("/d/a");
  ASSERT_TRUE((*file)->Append("new").ok());
  auto unnamed = fs.NewWritableFile("/d/b");
  ASSERT_TRUE((*unnamed)->Append("b").ok());
  ASSERT_TRUE((*unnamed)->Sync().ok());
  fs.Restart(FaultFileSystem::Crash::kMachineDropsUnsynced);
  EXPECT_EQ(*ReadFile(&fs, "/d/a"), "old");
  EXPECT_FALSE(*fs.Exists("/d/b"));
  EXPECT_FALSE((*file)->Append("more").ok());

  file = fs.NewWritableFile("/d/c");
  ASSERT_TRUE((*file)->Append("c").ok());
  ASSERT_TRUE((*file)->Sync().ok());
  ASSERT_TRUE((*file)->Append("lost").ok());
  ASSERT_TRUE(fs.SyncDir("/d").ok());
  ASSERT_TRUE(fs.Remove("/d/a").ok());
  fs.Restart(FaultFileSystem::Crash::kMachineDropsUnsynced);
  EXPECT_EQ(*ReadFile(&fs, "/d/c"), "c");
  EXPECT_EQ(*ReadFile(&fs, "/d/a"), "old");
}

TEST(FaultFileSystem, FullDiskWritesWhatFits) {
  FaultFileSystem fs;
  fs.SetFreeBytes(5);
  auto file = fs.NewWritableFile("/a");
  EXPECT_TRUE((*file)->Append("123").ok());
  EXPECT_EQ((*file)->Append("4567").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(*ReadFile(&fs, "/a"), "12345");
}

}  // namespace
}  // namespace muster
