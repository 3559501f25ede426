// Damage of any byte is seen; a forged manifest reaches no file outside its folder; what belongs to somebody else
// stays.

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/fault_file_system.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/checkpoint/checkpoint.h"
#include "worker/checkpoint/manifest.h"
#include "worker/checkpoint/test_util.h"

namespace muster::worker {
namespace {

using ::testing::HasSubstr;

constexpr char kJobDir[] = "/ckpt/tiny-1";
constexpr char kStepDir[] = "/ckpt/tiny-1/step-00000020";
const FakeState::Shapes kShapes = {{"param/w", {3, 5}}, {"exp_avg/w", {3, 5}}, {"exp_avg_sq/w", {3, 5}}};

class DamageTest : public ::testing::Test {
 protected:
  DamageTest() {
    FakeState state(kShapes, 5);
    manifest_ = SaveAll(&fs_, kJobDir, 20, 1, 2, &state).value();
    EXPECT_TRUE(Publish(&fs_, kJobDir, manifest_).ok());
  }

  absl::Status Load(const v1::CheckpointManifest& manifest, FakeState* loaded) {
    return LoadSlices(&fs_, kStepDir, manifest, loaded->All());
  }

  std::string Content(const std::string& path) { return ReadFile(&fs_, path).value(); }

  // Writes `manifest` as the checkpoint's own, with a right digest.
  void Forge(const v1::CheckpointManifest& manifest) {
    fs_.AddFile(absl::StrCat(kStepDir, "/manifest.json"), EncodeManifest(manifest).value());
  }

  // That a manifest changed like this is refused, by everything that takes one.
  void ExpectRefused(const std::function<void(v1::CheckpointManifest*)>& change,
                     absl::StatusCode code = absl::StatusCode::kDataLoss) {
    v1::CheckpointManifest forged = manifest_;
    change(&forged);
    Forge(forged);
    const absl::Status status = ReadManifest(&fs_, kStepDir).status();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(kStepDir));
    EXPECT_EQ(status.message().find('\n'), absl::string_view::npos) << status;
    EXPECT_EQ(VerifyCheckpoint(&fs_, kStepDir).code(), code);
    FakeState loaded(kShapes, 0);
    EXPECT_EQ(Load(forged, &loaded).code(), code);
    EXPECT_EQ(Publish(&fs_, kJobDir, forged).status().code(), code);
    EXPECT_EQ(RemoveCheckpoint(&fs_, kJobDir, 20, "uid-a").code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_TRUE(*fs_.Exists(absl::StrCat(kStepDir, "/shard-00001-of-00002.safetensors")));
  }

  FaultFileSystem fs_;
  v1::CheckpointManifest manifest_;
};

TEST_F(DamageTest, EveryByteOfEveryFileIsGuarded) {
  const std::vector<std::string> names = *fs_.List(kStepDir);
  ASSERT_EQ(names.size(), 3);
  for (const std::string& name : names) {
    const std::string path = absl::StrCat(kStepDir, "/", name);
    const std::string whole = Content(path);
    for (size_t i = 0; i < whole.size(); ++i) {
      std::string damaged = whole;
      damaged[i] ^= 1 << (i % 8);
      fs_.AddFile(path, damaged);
      const absl::Status status = VerifyCheckpoint(&fs_, kStepDir);
      ASSERT_EQ(status.code(), absl::StatusCode::kDataLoss) << path << " byte " << i << ": " << status;
      ASSERT_THAT(std::string(status.message()), HasSubstr(path));
      // A resume reads the tensors alone: it is refused, or has every bit.
      FakeState loaded(kShapes, 0);
      const auto manifest = ReadManifest(&fs_, kStepDir);
      if (manifest.ok() && Load(*manifest, &loaded).ok()) {
        ASSERT_TRUE(loaded == FakeState(kShapes, 5)) << path << " byte " << i;
      }
    }
    for (const std::string& other : {whole.substr(0, whole.size() - 1), whole.substr(0, whole.size() / 2),
                                     whole.substr(0, 8), std::string(), whole + '\0'}) {
      fs_.AddFile(path, other);
      ASSERT_EQ(VerifyCheckpoint(&fs_, kStepDir).code(), absl::StatusCode::kDataLoss) << path << " " << other.size();
    }
    fs_.AddFile(path, whole);
    ASSERT_TRUE(VerifyCheckpoint(&fs_, kStepDir).ok());
  }
}

TEST_F(DamageTest, DamagedDataNamesFileTensorAndOffset) {
  const v1::TensorChunk& chunk = manifest_.tensors(1).chunks(0);
  const std::string path = absl::StrCat(kStepDir, "/", chunk.file());
  std::string damaged = Content(path);
  damaged[chunk.offset() + 5] ^= 4;
  fs_.AddFile(path, damaged);
  FakeState loaded(kShapes, 0);
  for (const absl::Status& status : {VerifyCheckpoint(&fs_, kStepDir), Load(manifest_, &loaded)}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(status.message()), HasSubstr(path));
    EXPECT_THAT(std::string(status.message()), HasSubstr(manifest_.tensors(1).name()));
    EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat("byte ", chunk.offset())));
  }
}

TEST_F(DamageTest, DamageOutsideTheSliceThatIsWantedButInItsChunkIsSeen) {
  const v1::TensorChunk& chunk = manifest_.tensors(2).chunks(0);
  const std::string path = absl::StrCat(kStepDir, "/", chunk.file());
  std::string damaged = Content(path);
  damaged[chunk.offset() + chunk.length() * 4 - 1] ^= 1;
  fs_.AddFile(path, damaged);
  std::vector<float> one(1);
  const TensorSlice first = {manifest_.tensors(2).name(), {3, 5}, chunk.start(), absl::MakeSpan(one)};
  EXPECT_EQ(LoadSlices(&fs_, kStepDir, manifest_, {first}).code(), absl::StatusCode::kDataLoss);
}

TEST_F(DamageTest, MissingShardIsNotFound) {
  ASSERT_TRUE(fs_.Remove(absl::StrCat(kStepDir, "/shard-00001-of-00002.safetensors")).ok());
  FakeState loaded(kShapes, 0);
  EXPECT_EQ(VerifyCheckpoint(&fs_, kStepDir).code(), absl::StatusCode::kNotFound);
  const absl::Status status = Load(manifest_, &loaded);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("shard-00001-of-00002.safetensors"));
}

TEST_F(DamageTest, WrongTargetsAreRefused) {
  std::vector<float> room(15);
  const auto load = [&](TensorSlice target) { return LoadSlices(&fs_, kStepDir, manifest_, {target}).code(); };
  EXPECT_EQ(load({"param/none", {3, 5}, 0, absl::MakeSpan(room)}), absl::StatusCode::kNotFound);
  EXPECT_EQ(load({"param/w", {5, 3}, 0, absl::MakeSpan(room)}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(load({"param/w", {15}, 0, absl::MakeSpan(room)}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(load({"param/w", {3, 5}, 1, absl::MakeSpan(room)}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(load({"param/w", {3, 5}, -1, absl::MakeSpan(room).first(1)}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(load({"param/w", {3, 5}, 15, {}}), absl::StatusCode::kOk);
}

TEST_F(DamageTest, WrongSlicesAreNotSaved) {
  std::vector<float> data(15);
  const auto save = [&](std::vector<TensorSlice> slices) {
    return SaveShard(&fs_, {.job_dir = kJobDir, .step = 30, .generation = 1}, slices).status().code();
  };
  const absl::Span<float> all = absl::MakeSpan(data);
  EXPECT_EQ(save({{"w", {3, 5}, 1, all}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(save({{"w", {3, 0}, 0, {}}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(save({{"", {15}, 0, all}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(save({{"a\nb", {15}, 0, all}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(save({{"w", {15}, 0, all}, {"w", {15}, 14, all.first(1)}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(save({{"w", {15}, 0, all}, {"w", {15}, 0, all}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(save({{"w", {15}, 0, all.first(3)}, {"w", {5, 3}, 3, all.first(3)}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(save({{"w", {int64_t{1} << 40, int64_t{1} << 40}, 0, {}}}), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(*fs_.Exists(absl::StrCat(kJobDir, "/step-00000030.tmp-1")));
}

TEST_F(DamageTest, ManifestThatLeadsOutOfItsFolderIsRefused) {
  fs_.AddFile("/ckpt/victim", std::string(manifest_.files(0).bytes(), 'x'));
  for (const char* name : {"../victim", "../../victim", "/ckpt/victim", "", ".", "..", "a/b", "manifest.json"}) {
    SCOPED_TRACE(name);
    ExpectRefused([&](v1::CheckpointManifest* m) {
      for (auto& tensor : *m->mutable_tensors()) {
        for (auto& chunk : *tensor.mutable_chunks()) {
          if (chunk.file() == m->files(0).name()) chunk.set_file(name);
        }
      }
      m->mutable_files(0)->set_name(name);
    });
  }
  EXPECT_TRUE(*fs_.Exists("/ckpt/victim"));
}

TEST_F(DamageTest, UnsoundManifestIsRefused) {
  const auto first_chunk = [](v1::CheckpointManifest* m) { return m->mutable_tensors(0)->mutable_chunks(0); };
  ExpectRefused([](v1::CheckpointManifest* m) { m->clear_format_version(); });
  ExpectRefused([](v1::CheckpointManifest* m) { m->set_format_version(2); }, absl::StatusCode::kFailedPrecondition);
  ExpectRefused([](v1::CheckpointManifest* m) { *m->add_files() = m->files(0); });
  ExpectRefused([](v1::CheckpointManifest* m) { *m->add_tensors() = m->tensors(0); });
  ExpectRefused([](v1::CheckpointManifest* m) { m->mutable_tensors(0)->set_dtype("BF16"); });
  ExpectRefused([](v1::CheckpointManifest* m) { m->mutable_tensors(0)->set_shape(0, 4); });
  ExpectRefused([](v1::CheckpointManifest* m) { m->mutable_tensors(0)->set_shape(0, int64_t{1} << 62); });
  ExpectRefused([](v1::CheckpointManifest* m) { m->mutable_tensors(0)->set_shape(0, -3); });
  ExpectRefused([](v1::CheckpointManifest* m) { m->mutable_tensors(0)->clear_chunks(); });
  ExpectRefused([&](v1::CheckpointManifest* m) { first_chunk(m)->set_start(1); });
  ExpectRefused([&](v1::CheckpointManifest* m) { first_chunk(m)->set_length(first_chunk(m)->length() - 1); });
  ExpectRefused([&](v1::CheckpointManifest* m) { first_chunk(m)->set_length(int64_t{1} << 62); });
  ExpectRefused([&](v1::CheckpointManifest* m) { first_chunk(m)->set_offset(int64_t{1} << 62); });
  ExpectRefused([&](v1::CheckpointManifest* m) { first_chunk(m)->set_offset(-4); });
  ExpectRefused([&](v1::CheckpointManifest* m) { first_chunk(m)->set_offset(first_chunk(m)->offset() + 4); });
  ExpectRefused([&](v1::CheckpointManifest* m) { first_chunk(m)->set_file("shard-00009-of-00010.safetensors"); });
  ExpectRefused([&](v1::CheckpointManifest* m) { first_chunk(m)->set_xxh3("nothing"); });
  ExpectRefused([](v1::CheckpointManifest* m) { m->mutable_files(0)->set_bytes(-1); });
  Forge(manifest_);
  EXPECT_TRUE(VerifyCheckpoint(&fs_, kStepDir).ok());
}

TEST_F(DamageTest, FolderOfAnotherJobIsNeverRemovedNorReplaced) {
  const std::string before = Content(absl::StrCat(kStepDir, "/manifest.json"));
  const absl::Status removed = RemoveCheckpoint(&fs_, kJobDir, 20, "uid-b");
  EXPECT_EQ(removed.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(removed.message()), HasSubstr("uid-a"));
  FakeState state(kShapes, 6);
  const auto manifest = SaveAll(&fs_, kJobDir, 20, 9, 2, &state, "uid-b");
  ASSERT_TRUE(manifest.ok());
  const absl::Status published = Publish(&fs_, kJobDir, *manifest).status();
  EXPECT_EQ(published.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(published.message()), HasSubstr(kStepDir));
  EXPECT_EQ(Content(absl::StrCat(kStepDir, "/manifest.json")), before);
  EXPECT_TRUE(VerifyCheckpoint(&fs_, kStepDir).ok());
}

TEST_F(DamageTest, FolderWithoutManifestIsLeftAlone) {
  fs_.AddFile("/ckpt/tiny-1/step-00000030/notes.txt", "mine");
  EXPECT_EQ(RemoveCheckpoint(&fs_, kJobDir, 30, "uid-a").code(), absl::StatusCode::kFailedPrecondition);
  FakeState state(kShapes, 6);
  const auto manifest = SaveAll(&fs_, kJobDir, 30, 1, 2, &state);
  EXPECT_EQ(Publish(&fs_, kJobDir, *manifest).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(Content("/ckpt/tiny-1/step-00000030/notes.txt"), "mine");
}

TEST_F(DamageTest, UsersFileInACheckpointOutlivesIt) {
  fs_.AddFile(absl::StrCat(kStepDir, "/notes.txt"), "mine");
  EXPECT_TRUE(RemoveCheckpoint(&fs_, kJobDir, 20, "uid-a").ok());
  EXPECT_THAT(*fs_.List(kStepDir), ::testing::ElementsAre("notes.txt"));
}

TEST_F(DamageTest, RemovingWhatIsNotThereIsDone) {
  EXPECT_TRUE(RemoveCheckpoint(&fs_, kJobDir, 30, "uid-a").ok());
  EXPECT_TRUE(RemoveCheckpoint(&fs_, "/ckpt/none", 30, "uid-a").ok());
  EXPECT_TRUE(RemoveAbandonedSaves(&fs_, "/ckpt/none", 9).ok());
}

TEST_F(DamageTest, OnlyAbandonedSavesOfThisJobAreSwept) {
  FakeState state(kShapes, 6);
  ASSERT_TRUE(SaveAll(&fs_, kJobDir, 30, 2, 2, &state, "uid-a").ok());       // older: goes
  ASSERT_TRUE(SaveAll(&fs_, kJobDir, 30, 3, 2, &state, "uid-b").ok());       // another job's: stays
  ASSERT_TRUE(SaveAll(&fs_, kJobDir, 40, 5, 2, &state, "uid-a").ok());       // this generation's: stays
  ASSERT_TRUE(SaveAll(&fs_, kJobDir, 50, 6, 2, &state, "uid-a").ok());       // a newer one's: stays
  const auto committed = SaveAll(&fs_, kJobDir, 60, 4, 2, &state, "uid-a");  // has a manifest: stays
  fs_.AddFile("/ckpt/tiny-1/step-00000060.tmp-4/manifest.json", EncodeManifest(*committed).value());
  fs_.AddFile("/ckpt/tiny-1/step-00000070.tmp-1/shard-00000-of-00001.safetensors", "cut");  // goes
  fs_.AddFile("/ckpt/tiny-1/step-00000080.tmp-1/notes.txt", "mine");                        // stays
  fs_.AddFile("/ckpt/tiny-1/step-90.tmp-1/shard-00000-of-00001.safetensors", "x");          // not our name: stays
  const absl::Status swept = RemoveAbandonedSaves(&fs_, kJobDir, 5, "uid-a");
  ASSERT_TRUE(swept.ok()) << swept;
  EXPECT_THAT(*fs_.List(kJobDir),
              ::testing::UnorderedElementsAre("step-00000020", "step-00000030.tmp-3", "step-00000040.tmp-5",
                                              "step-00000050.tmp-6", "step-00000060.tmp-4", "step-00000080.tmp-1",
                                              "step-90.tmp-1"));
  EXPECT_TRUE(Publish(&fs_, kJobDir, *committed).ok());
}

TEST_F(DamageTest, OlderGenerationDoesNotReplaceANewerOne) {
  FakeState state(kShapes, 6);
  const auto older = SaveAll(&fs_, kJobDir, 30, 2, 2, &state);
  const auto newer = SaveAll(&fs_, kJobDir, 30, 3, 2, &state);
  ASSERT_TRUE(Publish(&fs_, kJobDir, *newer).ok());
  EXPECT_EQ(Publish(&fs_, kJobDir, *older).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReadManifest(&fs_, "/ckpt/tiny-1/step-00000030")->generation(), 3);
}

TEST_F(DamageTest, PublishingOverAHoleIsRefused) {
  FakeState state(kShapes, 6);
  const auto manifest = SaveAll(&fs_, kJobDir, 30, 2, 2, &state);
  const std::string shard = "/ckpt/tiny-1/step-00000030.tmp-2/shard-00001-of-00002.safetensors";
  fs_.AddFile(shard, "short");
  EXPECT_EQ(Publish(&fs_, kJobDir, *manifest).status().code(), absl::StatusCode::kDataLoss);
  ASSERT_TRUE(fs_.Remove(shard).ok());
  EXPECT_EQ(Publish(&fs_, kJobDir, *manifest).status().code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(*fs_.Exists("/ckpt/tiny-1/step-00000030.tmp-2/manifest.json"));
}

}  // namespace
}  // namespace muster::worker
