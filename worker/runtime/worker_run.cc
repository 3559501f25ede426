#include "worker/runtime/worker_run.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/log.h"
#include "common/proto_time.h"
#include "common/status_macros.h"
#include "common/version.h"
#include "worker/checkpoint/checkpoint.h"
#include "worker/runtime/audit_log.h"
#include "worker/runtime/failure.h"
#include "worker/runtime/manifest_header.h"
#include "worker/runtime/publisher.h"
#include "worker/runtime/reporter.h"
#include "worker/runtime/work_folder.h"

namespace muster::worker {
namespace {

// Of a collective. Dead peers are seen by their connections, and by the agents; this is for what neither sees, and it
// must not take a slow save or evaluation of one rank for a failure.
constexpr absl::Duration kCollectiveTimeout = absl::Minutes(30);
// The coordinator may be down that long without harm to a running job.
constexpr absl::Duration kCommitPatience = absl::Minutes(10);
// For the checkpoint before, when the next one is due.
constexpr absl::Duration kLastCommitPatience = absl::Seconds(1);
// A gang that stopped for a change is ended by its agents at once.
constexpr absl::Duration kHoldPatience = absl::Minutes(10);
// Old checkpoints that cannot be removed do not make a finished job fail.
constexpr absl::Duration kRemovePatience = absl::Seconds(10);
// For the last words of a worker that failed.
constexpr absl::Duration kFlushPatience = absl::Seconds(2);

constexpr absl::Duration kLogInterval = absl::Seconds(1);

class Run {
 public:
  Run(const WorkerEnv& env, v1::HelloReply hello, Reporter* reporter)
      : env_(env),
        hello_(std::move(hello)),
        train_(hello_.spec().train()),
        reporter_(reporter),
        rank_(env.worker.rank()),
        job_dir_(JobCheckpointDir(hello_.spec().checkpoint().dir(), env.worker.job_id())) {}

  Stage stage() const { return stage_; }

  absl::Status Go() {
    MUSTER_RETURN_IF_ERROR(OpenData());
    MUSTER_RETURN_IF_ERROR(PrepareFolders());
    MUSTER_RETURN_IF_ERROR(Connect());
    MUSTER_RETURN_IF_ERROR(Restore());
    stage_ = Stage::kTrain;
    while (trainer_->step() < train_.steps()) {
      const absl::Time begin = env_.clock->Now();
      MUSTER_ASSIGN_OR_RETURN(const StepResult done, trainer_->Step(reporter_->hold_at_checkpoint()));
      const absl::Duration took = env_.clock->Now() - begin;
      if (audit_) MUSTER_RETURN_IF_ERROR(audit_->Append(done.step, trainer_->last_samples()));
      MUSTER_RETURN_IF_ERROR(Tell(done, took));
      if (!IsDue(hello_.spec().checkpoint().every(), done.step)) continue;
      const bool hold = done.flag && done.step < train_.steps();
      MUSTER_RETURN_IF_ERROR(Save(done.step, hold));
      if (hold) return Hold(done.step);
    }
    return Finish();
  }

 private:
  // At every multiple of `every` (0: never), and at the end.
  bool IsDue(int64_t every, int64_t step) const { return step == train_.steps() || (every > 0 && step % every == 0); }

  absl::Status OpenData() {
    if (!hello_.spec().has_train()) return absl::InvalidArgumentError("train: missing; this program runs nothing else");
    if (hello_.spec().device() == v1::GPU) {
      return absl::UnimplementedError("device: GPU is not trained on by this release; use device: CPU, or a command");
    }
    const auto open = [&](const std::string& pattern) {
      return TokenDataset::Open(pattern, train_.data().format(), train_.model().context(), train_.model().vocab());
    };
    MUSTER_ASSIGN_OR_RETURN(data_, open(train_.data().train()));
    if (train_.eval().every() > 0) {
      MUSTER_ASSIGN_OR_RETURN(val_, open(train_.data().val()));
    }
    return absl::OkStatus();
  }

  // Before anybody trains: what would only be found out at the first checkpoint.
  absl::Status PrepareFolders() {
    MUSTER_RETURN_IF_ERROR(CheckWritable(env_.fs, job_dir_, env_.worker));
    if (!train_.sample_log_dir().empty()) {
      MUSTER_ASSIGN_OR_RETURN(audit_,
                              AuditLog::Open(env_.fs, train_.sample_log_dir(), env_.worker.generation(), rank_));
    }
    if (rank_ != 0) return absl::OkStatus();
    publisher_.emplace(Publisher::Options{.fs = env_.fs,
                                          .clock = env_.clock,
                                          .reporter = reporter_,
                                          .worker = env_.worker,
                                          .job_dir = job_dir_,
                                          .job_uid = hello_.job_uid()});
    if (hello_.has_publish()) MUSTER_RETURN_IF_ERROR(publisher_->PublishNow(hello_.publish()));
    MUSTER_RETURN_IF_ERROR(RemoveAbandonedSaves(env_.fs, job_dir_, env_.worker.generation()));
    publisher_->Start();
    return absl::OkStatus();
  }

  absl::Status Connect() {
    stage_ = Stage::kConnect;
    const CommOptions options = {
        .rank = rank_, .size = hello_.world_size(), .address = hello_.address(), .timeout = kCollectiveTimeout};
    MUSTER_ASSIGN_OR_RETURN(comm_, env_.new_communicator(options, [&](const std::string& blob) {
      stage_ = Stage::kAgent;
      v1::JoinRequest request;
      *request.mutable_worker() = env_.worker;
      request.set_blob(blob);
      auto blobs = PatientJoin(env_.agent, request, hello_.world_size(), env_.clock);
      if (blobs.ok()) stage_ = Stage::kConnect;
      return blobs;
    }));
    stage_ = Stage::kStart;
    const int threads = std::max(1, env_.cores / std::max(1, hello_.workers_on_host()));
    MUSTER_ASSIGN_OR_RETURN(trainer_, env_.new_trainer(train_, comm_.get(), data_.get(), threads));
    LogInfo("rank %d of %d, %d threads, %d samples an epoch", rank_, hello_.world_size(), threads, data_->samples());
    return absl::OkStatus();
  }

  absl::Status Restore() {
    if (!hello_.has_restore()) return absl::OkStatus();
    const v1::CheckpointRef& from = hello_.restore();
    MUSTER_RETURN_IF_ERROR(CheckResume(from.manifest(), train_, data_->samples()));
    MUSTER_RETURN_IF_ERROR(LoadSlices(env_.fs, from.path(), from.manifest(), trainer_->StateSlices()));
    MUSTER_RETURN_IF_ERROR(trainer_->FinishLoad(from.step()));
    reporter_->SetStep(from.step());
    LogInfo("resumed from %s", from.path());
    return absl::OkStatus();
  }

  // Evaluates and samples if it is time, and reports the step.
  absl::Status Tell(const StepResult& done, absl::Duration took) {
    v1::StepMetrics metrics;
    if (val_ && IsDue(train_.eval().every(), done.step)) {
      MUSTER_ASSIGN_OR_RETURN(const double loss, trainer_->Evaluate(*val_, train_.eval().batches()));
      metrics.set_val_loss(loss);
    }
    reporter_->SetStep(done.step);
    if (rank_ != 0) return absl::OkStatus();
    if (train_.sample().tokens() > 0 && IsDue(train_.sample().every(), done.step)) {
      MUSTER_ASSIGN_OR_RETURN(*metrics.mutable_sample(), trainer_->Sample(train_.sample()));
    }
    metrics.set_step(done.step);
    metrics.set_loss(done.loss);
    metrics.set_lr(done.lr);
    metrics.set_grad_norm(done.grad_norm);
    metrics.set_step_seconds(absl::ToDoubleSeconds(took));
    metrics.set_tokens(done.tokens);
    const absl::Time now = env_.clock->Now();
    *metrics.mutable_at() = ToProto(now);
    reporter_->AddMetrics(metrics);
    if (now - logged_ >= kLogInterval || done.step == train_.steps()) {
      logged_ = now;
      LogInfo("step %d/%d loss %.4f lr %.2e, %.0f tokens/s", done.step, train_.steps(), done.loss, done.lr,
              done.tokens / absl::ToDoubleSeconds(took));
    }
    return absl::OkStatus();
  }

  absl::Status Save(int64_t step, bool hold) {
    stage_ = Stage::kSave;
    // The agent knows of one uncommitted shard a worker. Where steps are faster than commits, wait, or none would ever
    // be complete; but not long, because the coordinator may be away.
    reporter_->WaitFor(env_.clock->Now() + kLastCommitPatience,
                       [&](const v1::ReportReply& d) { return d.committed_step() >= last_saved_; });
    const absl::Time begin = env_.clock->Now();
    const SaveOptions options = {.job_dir = job_dir_,
                                 .step = step,
                                 .generation = env_.worker.generation(),
                                 .rank = rank_,
                                 .world_size = hello_.world_size(),
                                 .header = ManifestHeader(env_.worker, hello_, step, data_->samples())};
    absl::StatusOr<v1::ShardReport> saved = SaveShard(env_.fs, options, trainer_->StateSlices());
    if (!saved.ok()) {
      // Goes if it is empty: other ranks may have their shards there, which the next generation removes.
      env_.fs->Remove(absl::StrCat(job_dir_, "/", StepDirName(step), ".tmp-", options.generation)).IgnoreError();
      return saved.status();
    }
    v1::ShardReport shard = *std::move(saved);
    shard.set_holding(hold);
    LogInfo("saved %s of step %d (%d bytes) in %s", shard.file().name(), step, shard.file().bytes(),
            absl::FormatDuration(env_.clock->Now() - begin));
    reporter_->SetShard(shard);
    last_saved_ = step;
    stage_ = Stage::kTrain;
    return absl::OkStatus();
  }

  // The agent ends this process once the next generation is decided.
  absl::Status Hold(int64_t step) {
    LogInfo("stopped at step %d: the gang is about to change", step);
    reporter_->WaitFor(env_.clock->Now() + kHoldPatience, [](const v1::ReportReply&) { return false; });
    return absl::AbortedError(absl::StrCat("stopped at step ", step, " for a change of the gang that did not come in ",
                                           absl::FormatDuration(kHoldPatience)));
  }

  absl::Status Finish() {
    stage_ = Stage::kSave;
    const auto committed = [&](const v1::ReportReply& d) {
      return d.committed_step() >= train_.steps() && !(rank_ == 0 && d.has_publish());
    };
    if (!reporter_->WaitFor(env_.clock->Now() + kCommitPatience, committed)) {
      return absl::DeadlineExceededError(absl::StrCat("the last checkpoint (step ", train_.steps(), ") was not ",
                                                      rank_ == 0 ? "published" : "committed", " within ",
                                                      absl::FormatDuration(kCommitPatience)));
    }
    if (rank_ == 0) {
      reporter_->WaitFor(env_.clock->Now() + kRemovePatience,
                         [](const v1::ReportReply& d) { return d.remove_steps().empty(); });
      // Nobody saves any more, so what never became a checkpoint can go.
      const absl::Status s = RemoveAbandonedSaves(env_.fs, job_dir_, env_.worker.generation() + 1);
      if (!s.ok()) LogWarning("cannot clear up %s: %s", job_dir_, s.message());
    }
    LogInfo("done: %d steps", train_.steps());
    return absl::OkStatus();
  }

  const WorkerEnv& env_;
  const v1::HelloReply hello_;
  const v1::TrainSpec& train_;
  Reporter* const reporter_;
  const int rank_;
  const std::string job_dir_;

  Stage stage_ = Stage::kStart;
  std::unique_ptr<TokenDataset> data_;
  std::unique_ptr<TokenDataset> val_;
  std::unique_ptr<AuditLog> audit_;
  std::unique_ptr<Communicator> comm_;
  std::unique_ptr<Trainer> trainer_;
  // Rank 0's.
  std::optional<Publisher> publisher_;
  int64_t last_saved_ = 0;
  absl::Time logged_ = absl::InfinitePast();
};

v1::HelloRequest MakeHello(const WorkerEnv& env) {
  v1::HelloRequest request;
  *request.mutable_worker() = env.worker;
  request.set_protocol(kProtocolVersion);
  request.set_version(kVersion);
  request.set_pid(getpid());
  return request;
}

}  // namespace

ExitCode RunWorker(const WorkerEnv& env) {
  const absl::StatusOr<v1::HelloReply> hello = PatientHello(env.agent, MakeHello(env), env.clock);
  if (!hello.ok()) {
    LogError("the agent has no work for this worker: %s", hello.status().message());
    return Classify(Stage::kAgent, hello.status()).code;
  }
  Reporter reporter({.agent = env.agent, .clock = env.clock, .worker = env.worker, .on_fenced = [&](const auto& why) {
                       LogError("the agent disowns this worker: %s", why.message());
                       env.exit_now(ExitCode::kFenced);
                     }});
  if (env.termination != nullptr) env.termination->SetLastWords([&] { reporter.Flush(absl::Milliseconds(500)); });
  ExitCode code = ExitCode::kDone;
  {
    Run run(env, *hello, &reporter);
    if (const absl::Status s = run.Go(); reporter.fenced()) {
      code = ExitCode::kFenced;
    } else if (!s.ok()) {
      const Failure failure = Classify(run.stage(), s);
      code = failure.code;
      LogError("%s", s.message());
      // Before the connections close: the cause should be heard before its consequences.
      if (code != ExitCode::kFenced) reporter.SetFailure(failure.kind, std::string(s.message()));
    }
    reporter.Flush(kFlushPatience);
  }
  if (env.termination != nullptr) env.termination->SetLastWords(nullptr);
  return code;
}

}  // namespace muster::worker
