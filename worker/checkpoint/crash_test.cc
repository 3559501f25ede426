// A crash of the process or of the machine at each file operation: what is left is the old state or the new one, and
// never a folder that a resume could take for a checkpoint and that is not one.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/fault_file_system.h"
#include "gtest/gtest.h"
#include "worker/checkpoint/checkpoint.h"
#include "worker/checkpoint/test_util.h"

namespace muster::worker {
namespace {

using Crash = FaultFileSystem::Crash;

constexpr char kJobDir[] = "/ckpt/tiny-1";
const FakeState::Shapes kShapes = {{"param/w", {3, 5}}, {"exp_avg/w", {3, 5}}, {"exp_avg_sq/w", {3, 5}}};

struct Outcome {
  Crash crash;
  uint64_t seed;
};

std::vector<Outcome> Outcomes() {
  std::vector<Outcome> outcomes = {{Crash::kProcess, 0}, {Crash::kMachineDropsUnsynced, 0}};
  for (uint64_t seed = 1; seed <= 8; ++seed) outcomes.push_back({Crash::kMachineKeepsSome, seed});
  return outcomes;
}

// Loads step `step` and compares.
void ExpectHolds(FileSystem* fs, int64_t step, uint32_t state_seed) {
  const std::string path = absl::StrCat(kJobDir, "/", StepDirName(step));
  const absl::Status verified = VerifyCheckpoint(fs, path);
  ASSERT_TRUE(verified.ok()) << verified;
  const auto manifest = ReadManifest(fs, path);
  FakeState loaded(kShapes, 0);
  ASSERT_TRUE(LoadSlices(fs, path, *manifest, loaded.All()).ok());
  FakeState expected(kShapes, state_seed);
  ASSERT_TRUE(loaded == expected) << "step " << step;
}

// Whatever has a manifest is whole.
void ExpectNoImpostor(FileSystem* fs) {
  const auto names = fs->List(kJobDir);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    const std::string path = absl::StrCat(kJobDir, "/", name);
    if (!*fs->Exists(path + "/manifest.json")) continue;
    const absl::Status verified = VerifyCheckpoint(fs, path);
    ASSERT_TRUE(verified.ok()) << verified;
  }
}

void SaveAndPublish(FileSystem* fs, int64_t step, uint64_t generation, uint32_t state_seed) {
  FakeState state(kShapes, state_seed);
  const auto manifest = SaveAll(fs, kJobDir, step, generation, 2, &state);
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  ASSERT_TRUE(Publish(fs, kJobDir, *manifest).ok());
}

// Runs `before`, then `act` with a crash at its n-th operation for every n and every outcome, then `after`.
void AtEveryOperation(const std::function<void(FileSystem*)>& before,
                      const std::function<absl::Status(FileSystem*)>& act,
                      const std::function<void(FileSystem*)>& after) {
  for (const Outcome& outcome : Outcomes()) {
    bool crashed = true;
    for (int64_t n = 1; crashed; ++n) {
      SCOPED_TRACE(absl::StrCat("crash ", static_cast<int>(outcome.crash), " seed ", outcome.seed, " operation ", n));
      FaultFileSystem fs;
      ASSERT_TRUE(fs.CreateDirs("/ckpt").ok());
      ASSERT_TRUE(fs.SyncDir("/").ok());
      before(&fs);
      const int64_t start = fs.operations();
      fs.FailFrom(start + n, absl::InternalError("the machine is gone"));
      const absl::Status status = act(&fs);
      crashed = fs.operations() >= start + n;
      ASSERT_EQ(status.ok(), !crashed) << status;
      fs.Restart(outcome.crash, outcome.seed);
      ExpectNoImpostor(&fs);
      if (::testing::Test::HasFatalFailure()) return;
      after(&fs);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(CheckpointCrash, SaveAndPublishLeaveTheOldOrTheNew) {
  // What the coordinator knows: reports that it has, and so has committed.
  std::optional<v1::CheckpointManifest> committed;
  AtEveryOperation(
      [&](FileSystem* fs) {
        committed.reset();
        SaveAndPublish(fs, 10, 1, 10);
      },
      [&](FileSystem* fs) -> absl::Status {
        FakeState state(kShapes, 20);
        const auto manifest = SaveAll(fs, kJobDir, 20, 2, 2, &state);
        if (!manifest.ok()) return manifest.status();
        committed = *manifest;
        return Publish(fs, kJobDir, *manifest).status();
      },
      [&](FileSystem* fs) {
        ExpectHolds(fs, 10, 10);
        if (committed.has_value()) {
          // Reported means durable: it can be published still, and again.
          const auto path = Publish(fs, kJobDir, *committed);
          ASSERT_TRUE(path.ok()) << path.status();
          ASSERT_TRUE(Publish(fs, kJobDir, *committed).ok());
          ExpectHolds(fs, 20, 20);
        } else {
          ASSERT_FALSE(*fs->Exists(absl::StrCat(kJobDir, "/", StepDirName(20))));
          SaveAndPublish(fs, 20, 3, 21);
          ExpectHolds(fs, 20, 21);
        }
        const absl::Status swept = RemoveAbandonedSaves(fs, kJobDir, 4, "uid-a");
        ASSERT_TRUE(swept.ok()) << swept;
        ASSERT_EQ(fs->List(kJobDir)->size(), 2);
      });
}

TEST(CheckpointCrash, FirstSaveInANewFolderIsDurableOnceReported) {
  std::optional<v1::CheckpointManifest> committed;
  AtEveryOperation([&](FileSystem* fs) { committed.reset(); },
                   [&](FileSystem* fs) -> absl::Status {
                     FakeState state(kShapes, 20);
                     const auto manifest = SaveAll(fs, kJobDir, 20, 2, 3, &state);
                     if (!manifest.ok()) return manifest.status();
                     committed = *manifest;
                     return Publish(fs, kJobDir, *manifest).status();
                   },
                   [&](FileSystem* fs) {
                     if (!committed.has_value()) return;
                     const auto path = Publish(fs, kJobDir, *committed);
                     ASSERT_TRUE(path.ok()) << path.status();
                     ExpectHolds(fs, 20, 20);
                   });
}

TEST(CheckpointCrash, RemoveCanAlwaysGoOn) {
  AtEveryOperation(
      [&](FileSystem* fs) {
        SaveAndPublish(fs, 10, 1, 10);
        SaveAndPublish(fs, 20, 1, 20);
      },
      [&](FileSystem* fs) { return RemoveCheckpoint(fs, kJobDir, 10, "uid-a"); },
      [&](FileSystem* fs) {
        ExpectHolds(fs, 20, 20);
        const absl::Status status = RemoveCheckpoint(fs, kJobDir, 10, "uid-a");
        ASSERT_TRUE(status.ok()) << status;
        ASSERT_FALSE(*fs->Exists(absl::StrCat(kJobDir, "/", StepDirName(10))));
        ExpectHolds(fs, 20, 20);
      });
}

TEST(CheckpointCrash, NewerGenerationReplacesTheStep) {
  std::optional<v1::CheckpointManifest> committed;
  AtEveryOperation(
      [&](FileSystem* fs) {
        SaveAndPublish(fs, 20, 1, 1);
        FakeState state(kShapes, 2);
        committed = *SaveAll(fs, kJobDir, 20, 2, 3, &state);
      },
      [&](FileSystem* fs) { return Publish(fs, kJobDir, *committed).status(); },
      [&](FileSystem* fs) {
        const auto path = Publish(fs, kJobDir, *committed);
        ASSERT_TRUE(path.ok()) << path.status();
        ExpectHolds(fs, 20, 2);
        ASSERT_TRUE(RemoveAbandonedSaves(fs, kJobDir, 3, "uid-a").ok());
        ASSERT_EQ(fs->List(kJobDir)->size(), 1);
      });
}

TEST(CheckpointCrash, SweepingAbandonedSavesCanAlwaysGoOn) {
  AtEveryOperation(
      [&](FileSystem* fs) {
        SaveAndPublish(fs, 10, 1, 10);
        FakeState state(kShapes, 2);
        ASSERT_TRUE(SaveAll(fs, kJobDir, 20, 1, 2, &state).ok());
        ASSERT_TRUE(SaveAll(fs, kJobDir, 20, 2, 2, &state).ok());
      },
      [&](FileSystem* fs) { return RemoveAbandonedSaves(fs, kJobDir, 3, "uid-a"); },
      [&](FileSystem* fs) {
        ASSERT_TRUE(RemoveAbandonedSaves(fs, kJobDir, 3, "uid-a").ok());
        ASSERT_EQ(fs->List(kJobDir)->size(), 1);
        ExpectHolds(fs, 10, 10);
      });
}

// An error instead of a crash: told, and the next try succeeds.
TEST(CheckpointFault, EveryFailedOperationIsToldAndCanBeRepeated) {
  for (int64_t n = 1;; ++n) {
    FaultFileSystem fs;
    SaveAndPublish(&fs, 10, 1, 10);
    const int64_t start = fs.operations();
    fs.FailOnce(start + n, absl::ResourceExhaustedError("cannot write x: No space left on device"));
    FakeState state(kShapes, 20);
    bool failed = false;
    auto manifest = SaveAll(&fs, kJobDir, 20, 1, 2, &state);
    if (!manifest.ok()) {
      failed = true;
      EXPECT_EQ(manifest.status().code(), absl::StatusCode::kResourceExhausted) << manifest.status();
      EXPECT_TRUE(absl::StrContains(manifest.status().message(), "free space")) << manifest.status();
      manifest = SaveAll(&fs, kJobDir, 20, 1, 2, &state);
    }
    ASSERT_TRUE(manifest.ok()) << manifest.status();
    for (int attempt = 0; attempt < 2; ++attempt) {
      const auto path = Publish(&fs, kJobDir, *manifest);
      if (path.ok()) break;
      EXPECT_FALSE(failed);
      failed = true;
    }
    for (int attempt = 0; attempt < 2; ++attempt) {
      if (RemoveCheckpoint(&fs, kJobDir, 10, "uid-a").ok()) break;
      EXPECT_FALSE(failed);
      failed = true;
    }
    const bool reached = fs.operations() >= start + n;
    ASSERT_EQ(failed, reached) << "operation " << n << " failed and nobody said so";
    fs.FailOnce(0, absl::OkStatus());
    ExpectHolds(&fs, 20, 20);
    ASSERT_EQ(fs.List(kJobDir)->size(), 1);
    if (!reached) break;
  }
}

TEST(CheckpointFault, FullDiskAtEveryByteLeavesNoShardAndNoCheckpoint) {
  FaultFileSystem measure;
  FakeState state(kShapes, 20);
  const auto sizes = SaveAll(&measure, kJobDir, 20, 1, 2, &state);
  ASSERT_TRUE(sizes.ok());
  const int64_t shards = sizes->files(0).bytes() + sizes->files(1).bytes();
  for (int64_t free = 0; free < shards; free += 3) {
    FaultFileSystem fs;
    fs.SetFreeBytes(free);
    const auto manifest = SaveAll(&fs, kJobDir, 20, 1, 2, &state);
    ASSERT_EQ(manifest.status().code(), absl::StatusCode::kResourceExhausted) << manifest.status();
    const auto left = fs.List(absl::StrCat(kJobDir, "/step-00000020.tmp-1"));
    ASSERT_TRUE(left.ok());
    ASSERT_EQ(left->size(), free < sizes->files(0).bytes() ? 0 : 1);
  }
  for (int64_t free = 0;; free += 11) {
    FaultFileSystem fs;
    fs.SetFreeBytes(shards + free);
    const auto manifest = SaveAll(&fs, kJobDir, 20, 1, 2, &state);
    ASSERT_TRUE(manifest.ok());
    const auto path = Publish(&fs, kJobDir, *manifest);
    if (path.ok()) break;
    ASSERT_EQ(path.status().code(), absl::StatusCode::kResourceExhausted);
    ASSERT_FALSE(*fs.Exists(absl::StrCat(kJobDir, "/step-00000020")));
    fs.SetFreeBytes(1 << 20);
    ASSERT_TRUE(Publish(&fs, kJobDir, *manifest).ok());
  }
}

}  // namespace
}  // namespace muster::worker
