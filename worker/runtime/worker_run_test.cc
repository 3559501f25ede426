#include "worker/runtime/worker_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "worker/checkpoint/checkpoint.h"
#include "worker/runtime/gang_harness.h"

namespace muster::worker {
namespace {

using testing::AnyOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

FileSystem* fs() { return FileSystem::Posix(); }

std::vector<std::string> CheckpointFolders(const FakeJob&, const std::string& folder) {
  return fs()->List(JobCheckpointDir(folder + "/checkpoints", "job-1")).value_or(std::vector<std::string>{});
}

TEST(WorkerRun, FreshStartTrainsToTheEndAndKeepsTheNewestCheckpoints) {
  const std::string folder = NewTestFolder();
  FakeJob job(TinyJob(folder, 18));
  job.StartGeneration(3);
  EXPECT_THAT(RunGeneration(&job, 3), Each(ExitCode::kDone));
  EXPECT_EQ(job.committed_step(), 18);
  EXPECT_EQ(job.metrics().size(), 18u);
  EXPECT_EQ(job.metrics()[5].tokens(), 12 * 8);
  EXPECT_LT(job.metrics()[18].loss(), job.metrics()[1].loss());
  EXPECT_TRUE(job.failures().empty());
  EXPECT_THAT(CheckpointFolders(job, folder), ElementsAre(StepDirName(16), StepDirName(18)));
  const absl::Status whole =
      VerifyCheckpoint(fs(), JobCheckpointDir(folder + "/checkpoints", "job-1") + "/" + StepDirName(18));
  EXPECT_TRUE(whole.ok()) << whole;
}

TEST(WorkerRun, RestartResumesFromTheNewestCommitAndPublishesWhatWasLeft) {
  const std::string folder = NewTestFolder();
  FakeJob job(TinyJob(folder, 16));
  job.StartGeneration(2);
  job.WithholdPublish();
  job.FenceAllAtStep(10);
  // The second to hear of it may see the first one go instead.
  EXPECT_THAT(RunGeneration(&job, 2), Each(AnyOf(ExitCode::kFenced, ExitCode::kPeerLost)));
  ASSERT_EQ(job.committed_step(), 8);
  EXPECT_TRUE(job.published().empty());

  job.StartGeneration(2);
  EXPECT_THAT(RunGeneration(&job, 2), Each(ExitCode::kDone));
  EXPECT_EQ(job.published().count(8), 1u);
  // No step before 9 was done again: its audit log begins there.
  const auto log = ReadFile(fs(), folder + "/samples/g2-r0.log");
  ASSERT_TRUE(log.ok());
  EXPECT_EQ(log->rfind("2 9 ", 0), 0u) << *log;
}

TEST(WorkerRun, HoldStopsAllRanksAtTheSameCheckpointAndNothingIsRedone) {
  const std::string folder = NewTestFolder();
  FakeJob job(TinyJob(folder, 40));
  job.StartGeneration(3);
  job.Hold();
  EXPECT_THAT(RunGeneration(&job, 3), Each(ExitCode::kFenced));
  const int64_t held = job.committed_step();
  EXPECT_EQ(held % 4, 0);
  EXPECT_LT(held, 40);
  EXPECT_EQ(job.metrics().rbegin()->first, held);
  EXPECT_TRUE(job.failures().empty());
  job.StartGeneration(4);
  EXPECT_THAT(RunGeneration(&job, 4), Each(ExitCode::kDone));
}

TEST(WorkerRun, EvaluationAndSamplesComeWithTheirSteps) {
  const std::string folder = NewTestFolder();
  v1::JobSpec spec = TinyJob(folder, 6);
  spec.mutable_train()->mutable_data()->set_val(folder + "/train.bin");
  spec.mutable_train()->mutable_eval()->set_every(4);
  spec.mutable_train()->mutable_eval()->set_batches(3);
  spec.mutable_train()->mutable_sample()->set_tokens(5);
  spec.mutable_train()->mutable_sample()->set_every(3);
  FakeJob job(spec);
  job.StartGeneration(2);
  EXPECT_THAT(RunGeneration(&job, 2), Each(ExitCode::kDone));
  for (const auto& [step, m] : job.metrics()) {
    EXPECT_EQ(m.has_val_loss(), step == 4 || step == 6) << step;
    EXPECT_EQ(!m.sample().empty(), step == 3 || step == 6) << step;
  }
}

TEST(WorkerRun, ALostPeerIsToldAndNamed) {
  FakeJob job(TinyJob(NewTestFolder(), 100'000));
  job.StartGeneration(2);
  job.FenceRankAtStep(1, 3);
  EXPECT_THAT(RunGeneration(&job, 2), ElementsAre(ExitCode::kPeerLost, ExitCode::kFenced));
  ASSERT_EQ(job.failures().count(0), 1u);
  EXPECT_EQ(job.failures()[0].kind(), v1::PEER_LOST);
  EXPECT_THAT(job.failures()[0].message(), HasSubstr("rank 1"));
}

TEST(WorkerRun, RealConnectionsTrainAsInProcessOnesDo) {
  double loss[2];
  for (int gloo = 0; gloo < 2; ++gloo) {
    FakeJob job(TinyJob(NewTestFolder(), 5));
    job.StartGeneration(3);
    const auto codes = RunGeneration(&job, 3, [&](int, WorkerEnv* env) {
      if (gloo == 1) env->new_communicator = NewGlooCommunicator;
    });
    EXPECT_THAT(codes, Each(ExitCode::kDone));
    loss[gloo] = job.metrics()[5].loss();
  }
  EXPECT_EQ(loss[0], loss[1]);
}

// Every error that no restart would mend: the exit code, the kind, and one line that says where to look.
struct Bad {
  const char* name;
  std::function<void(v1::JobSpec*, const std::string& folder)> spoil;
  const char* says;
};

class WorkerRunBadInput : public testing::TestWithParam<Bad> {};

TEST_P(WorkerRunBadInput, IsPermanentAndLeavesNothingHalfDone) {
  const std::string folder = NewTestFolder();
  v1::JobSpec spec = TinyJob(folder, 8);
  GetParam().spoil(&spec, folder);
  FakeJob job(spec);
  job.StartGeneration(1);
  EXPECT_THAT(RunGeneration(&job, 1), ElementsAre(ExitCode::kPermanent));
  ASSERT_EQ(job.failures().count(0), 1u);
  EXPECT_EQ(job.failures()[0].kind(), v1::PERMANENT);
  EXPECT_THAT(job.failures()[0].message(), HasSubstr(GetParam().says));
  EXPECT_EQ(job.failures()[0].message().find('\n'), std::string::npos);
  EXPECT_THAT(CheckpointFolders(job, folder), ElementsAre());
}

INSTANTIATE_TEST_SUITE_P(
    All, WorkerRunBadInput,
    testing::Values(
        Bad{"NoData",
            [](v1::JobSpec* s, const std::string&) { s->mutable_train()->mutable_data()->set_train("/no/such.bin"); },
            "/no/such.bin"},
        Bad{"TokenBeyondVocabulary",
            [](v1::JobSpec* s, const std::string&) { s->mutable_train()->mutable_model()->set_vocab(9); }, "train.bin"},
        Bad{"NoTrain", [](v1::JobSpec* s, const std::string&) { s->clear_train(); }, "train"},
        Bad{"Gpu", [](v1::JobSpec* s, const std::string&) { s->set_device(v1::GPU); }, "device"},
        Bad{"CheckpointDirIsBelowAFile",
            [](v1::JobSpec* s, const std::string& folder) {
              s->mutable_checkpoint()->set_dir(folder + "/train.bin/x");
            },
            "checkpoint.dir"},
        Bad{"SampleLogDirIsAFile",
            [](v1::JobSpec* s, const std::string& folder) {
              s->mutable_train()->set_sample_log_dir(folder + "/train.bin");
            },
            "sample_log_dir"},
        Bad{"Diverges",
            [](v1::JobSpec* s, const std::string&) {
              s->mutable_train()->mutable_schedule()->set_lr(1e30);
              s->mutable_train()->mutable_schedule()->set_warmup_steps(0);
              s->mutable_checkpoint()->set_every(100);
            },
            "step "}),
    [](const auto& info) { return info.param.name; });

TEST(WorkerRun, ResumeWithAnotherSeedIsRefusedWithBothValues) {
  FakeJob job(TinyJob(NewTestFolder(), 12));
  job.StartGeneration(1);
  job.FenceAllAtStep(6);
  RunGeneration(&job, 1);
  ASSERT_EQ(job.committed_step(), 4);
  job.spec().mutable_train()->set_seed(8);
  job.StartGeneration(1);
  EXPECT_THAT(RunGeneration(&job, 1), ElementsAre(ExitCode::kPermanent));
  EXPECT_THAT(job.failures()[0].message(), HasSubstr("train.seed was 7"));
  EXPECT_THAT(job.failures()[0].message(), HasSubstr("is 8 now"));
}

TEST(WorkerRun, ADamagedCheckpointIsRefusedAndItsFileNamed) {
  const std::string folder = NewTestFolder();
  FakeJob job(TinyJob(folder, 12));
  job.StartGeneration(1);
  job.FenceAllAtStep(6);
  RunGeneration(&job, 1);
  const std::string path = job.Restore().path();
  const std::string file = path + "/" + job.Restore().manifest().files(0).name();
  std::string bytes = *ReadFile(fs(), file);
  bytes[bytes.size() - 5] ^= 1;
  ASSERT_TRUE(WriteFileAtomically(fs(), file, bytes).ok());
  job.StartGeneration(1);
  EXPECT_THAT(RunGeneration(&job, 1), ElementsAre(ExitCode::kPermanent));
  EXPECT_THAT(job.failures()[0].message(), HasSubstr("shard-"));
}

// A disk that fills up once `room` bytes were written to files whose name contains `part`.
class FullDisk final : public FileSystem {
 public:
  FullDisk(std::string part, absl::Status error) : part_(std::move(part)), error_(std::move(error)) {}
  absl::StatusOr<std::unique_ptr<WritableFile>> NewWritableFile(const std::string& path) override {
    auto file = fs()->NewWritableFile(path);
    if (!file.ok() || path.find(part_) == std::string::npos) return file;
    return std::make_unique<File>(*std::move(file), error_);
  }
  absl::StatusOr<std::unique_ptr<RandomAccessFile>> NewRandomAccessFile(const std::string& path) override {
    return fs()->NewRandomAccessFile(path);
  }
  absl::Status CreateDirs(const std::string& path) override { return fs()->CreateDirs(path); }
  absl::StatusOr<std::vector<std::string>> List(const std::string& path) override { return fs()->List(path); }
  absl::StatusOr<bool> Exists(const std::string& path) override { return fs()->Exists(path); }
  absl::Status Rename(const std::string& from, const std::string& to) override { return fs()->Rename(from, to); }
  absl::Status Remove(const std::string& path) override { return fs()->Remove(path); }
  absl::Status SyncDir(const std::string& path) override { return fs()->SyncDir(path); }

 private:
  class File final : public WritableFile {
   public:
    File(std::unique_ptr<WritableFile> file, absl::Status error) : file_(std::move(file)), error_(std::move(error)) {}
    absl::Status Append(absl::string_view data) override {
      if (const absl::Status s = file_->Append(data.substr(0, data.size() / 2)); !s.ok()) return s;
      return error_;
    }
    absl::Status Sync() override { return file_->Sync(); }
    absl::Status Close() override { return file_->Close(); }

   private:
    const std::unique_ptr<WritableFile> file_;
    const absl::Status error_;
  };

  const std::string part_;
  const absl::Status error_;
};

TEST(WorkerRun, AFullDiskIsPermanentNamesTheFolderAndLeavesNoPart) {
  for (const char* part : {".probe-", "shard-"}) {
    const std::string folder = NewTestFolder();
    FakeJob job(TinyJob(folder, 8));
    job.StartGeneration(1);
    FullDisk disk(part, absl::ResourceExhaustedError("no space left on device"));
    EXPECT_THAT(RunGeneration(&job, 1, [&](int, WorkerEnv* env) { env->fs = &disk; }),
                ElementsAre(ExitCode::kPermanent));
    EXPECT_EQ(job.failures()[0].kind(), v1::PERMANENT);
    EXPECT_THAT(job.failures()[0].message(), HasSubstr(folder + "/checkpoints/job-1"));
    EXPECT_THAT(job.failures()[0].message(), HasSubstr("free space"));
    EXPECT_THAT(CheckpointFolders(job, folder), ElementsAre()) << part;
  }
}

TEST(WorkerRun, AnAgentThatDoesNotKnowTheWorkerEndsIt) {
  FakeJob job(TinyJob(NewTestFolder(), 8));
  job.StartGeneration(1);
  EXPECT_THAT(RunGeneration(&job, 1, [](int, WorkerEnv* env) { env->worker.set_generation(9); }),
              ElementsAre(ExitCode::kFenced));
}

}  // namespace
}  // namespace muster::worker
