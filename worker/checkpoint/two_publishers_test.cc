// A fenced rank 0 that is not dead yet and its successor may publish one checkpoint at once, and so may two threads.

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/fault_file_system.h"
#include "gtest/gtest.h"
#include "worker/checkpoint/checkpoint.h"
#include "worker/checkpoint/test_util.h"

namespace muster::worker {
namespace {

constexpr char kJobDir[] = "/ckpt/tiny-1";
constexpr char kStepDir[] = "/ckpt/tiny-1/step-00000020";
const FakeState::Shapes kShapes = {{"param/w", {3, 5}}, {"exp_avg/w", {3, 5}}};

// Hands everything on; before the n-th operation something else happens.
class Interrupted final : public FileSystem {
 public:
  Interrupted(FileSystem* fs, int64_t n, std::function<void()> interruption)
      : fs_(fs), left_(n), interruption_(std::move(interruption)) {}
  bool happened() const { return left_ <= 0; }

  absl::StatusOr<std::unique_ptr<WritableFile>> NewWritableFile(const std::string& path) override {
    return Next()->NewWritableFile(path);
  }
  absl::StatusOr<std::unique_ptr<RandomAccessFile>> NewRandomAccessFile(const std::string& path) override {
    return Next()->NewRandomAccessFile(path);
  }
  absl::Status CreateDirs(const std::string& path) override { return Next()->CreateDirs(path); }
  absl::StatusOr<std::vector<std::string>> List(const std::string& path) override { return Next()->List(path); }
  absl::StatusOr<bool> Exists(const std::string& path) override { return Next()->Exists(path); }
  absl::Status Rename(const std::string& from, const std::string& to) override { return Next()->Rename(from, to); }
  absl::Status Remove(const std::string& path) override { return Next()->Remove(path); }
  absl::Status SyncDir(const std::string& path) override { return Next()->SyncDir(path); }

 private:
  FileSystem* Next() {
    if (--left_ == 0) interruption_();
    return fs_;
  }

  FileSystem* const fs_;
  int64_t left_;
  const std::function<void()> interruption_;
};

void ExpectPublished(FileSystem* fs, uint64_t generation, uint32_t state_seed) {
  const absl::Status verified = VerifyCheckpoint(fs, kStepDir);
  ASSERT_TRUE(verified.ok()) << verified;
  const auto manifest = ReadManifest(fs, kStepDir);
  ASSERT_EQ(manifest->generation(), generation);
  FakeState loaded(kShapes, 0);
  ASSERT_TRUE(LoadSlices(fs, kStepDir, *manifest, loaded.All()).ok());
  ASSERT_TRUE(loaded == FakeState(kShapes, state_seed));
  // And it can be removed without a rest.
  ASSERT_TRUE(RemoveCheckpoint(fs, kJobDir, 20, "uid-a").ok());
  ASSERT_TRUE(fs->List(kJobDir)->empty());
}

// With and without an older generation's checkpoint in the way.
TEST(TwoPublishers, SecondOneAtAnyMomentOfTheFirst) {
  for (const bool replace : {false, true}) {
    bool happened = true;
    for (int64_t n = 1; happened; ++n) {
      SCOPED_TRACE(absl::StrCat("operation ", n, replace ? ", replacing" : ""));
      FaultFileSystem fs;
      if (replace) {
        FakeState old(kShapes, 1);
        ASSERT_TRUE(Publish(&fs, kJobDir, *SaveAll(&fs, kJobDir, 20, 1, 2, &old)).ok());
      }
      FakeState state(kShapes, 2);
      const auto manifest = SaveAll(&fs, kJobDir, 20, 2, 2, &state);
      absl::Status second;
      Interrupted first(&fs, n, [&] { second = Publish(&fs, kJobDir, *manifest).status(); });
      const absl::Status status = Publish(&first, kJobDir, *manifest).status();
      ASSERT_TRUE(status.ok()) << status;
      ASSERT_TRUE(second.ok()) << second;
      happened = first.happened();
      ExpectPublished(&fs, 2, 2);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(TwoPublishers, ManyThreadsAtOnce) {
  for (int round = 0; round < 50; ++round) {
    FaultFileSystem fs;
    FakeState state(kShapes, 2);
    const auto manifest = SaveAll(&fs, kJobDir, 20, 2, 2, &state);
    std::vector<absl::Status> results(4);
    std::vector<std::thread> threads;
    for (absl::Status& result : results) {
      threads.emplace_back([&] { result = Publish(&fs, kJobDir, *manifest).status(); });
    }
    for (std::thread& thread : threads) thread.join();
    for (const absl::Status& result : results) ASSERT_TRUE(result.ok()) << result;
    ExpectPublished(&fs, 2, 2);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace muster::worker
