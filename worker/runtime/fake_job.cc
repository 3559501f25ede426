#include "worker/runtime/fake_job.h"

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "worker/checkpoint/checkpoint.h"

namespace muster::worker {

class FakeAgent final : public AgentLink {
 public:
  explicit FakeAgent(FakeJob* job) : job_(job) {}
  absl::StatusOr<v1::HelloReply> Hello(const v1::HelloRequest& request) override { return job_->Hello(request); }
  absl::StatusOr<v1::JoinReply> Join(const v1::JoinRequest& request) override { return job_->Join(request); }
  absl::StatusOr<v1::ReportReply> Report(const v1::ReportRequest& request) override { return job_->Report(request); }

 private:
  FakeJob* const job_;
};

std::unique_ptr<AgentLink> FakeJob::Agent(int) { return std::make_unique<FakeAgent>(this); }

void FakeJob::StartGeneration(int world) {
  std::lock_guard<std::mutex> lock(mu_);
  ++generation_;
  world_ = world;
  restore_ = committed_.empty() ? 0 : committed_.rbegin()->first;
  fence_all_at_ = fence_rank_at_ = 0;
  withhold_ = hold_ = false;
  fenced_.clear();
  blobs_.clear();
  shards_.clear();
  failures_.clear();
}

v1::WorkerRef FakeJob::Worker(int rank) {
  std::lock_guard<std::mutex> lock(mu_);
  v1::WorkerRef worker;
  worker.set_job_id("job-1");
  worker.set_generation(generation_);
  worker.set_rank(rank);
  return worker;
}

absl::Status FakeJob::Check(const v1::WorkerRef& worker) {
  if (worker.generation() != generation_) return absl::FailedPreconditionError("an old generation");
  if (worker.rank() < 0 || worker.rank() >= world_) return absl::NotFoundError("no such worker");
  if (fenced_.count(worker.rank()) != 0) return absl::FailedPreconditionError("fenced");
  return absl::OkStatus();
}

void FakeJob::Fence(int rank) {
  fenced_.insert(rank);
  cv_.notify_all();
}

v1::CheckpointRef FakeJob::RefOf(int64_t step) {
  v1::CheckpointRef ref;
  ref.set_step(step);
  ref.set_path(absl::StrCat(JobCheckpointDir(spec_.checkpoint().dir(), "job-1"), "/", StepDirName(step)));
  *ref.mutable_manifest() = committed_.at(step);
  return ref;
}

absl::StatusOr<v1::HelloReply> FakeJob::Hello(const v1::HelloRequest& request) {
  std::lock_guard<std::mutex> lock(mu_);
  MUSTER_RETURN_IF_ERROR(Check(request.worker()));
  v1::HelloReply reply;
  *reply.mutable_spec() = spec_;
  reply.set_job_uid("uid-1");
  reply.set_world_size(world_);
  reply.set_local_rank(request.worker().rank());
  reply.set_local_world_size(world_);
  reply.set_address("127.0.0.1");
  reply.set_workers_on_host(world_);
  if (restore_ > 0) {
    *reply.mutable_restore() = RefOf(restore_);
    if (request.worker().rank() == 0 && published_.count(restore_) == 0)
      *reply.mutable_publish() = committed_[restore_];
  }
  return reply;
}

absl::StatusOr<v1::JoinReply> FakeJob::Join(const v1::JoinRequest& request) {
  std::unique_lock<std::mutex> lock(mu_);
  MUSTER_RETURN_IF_ERROR(Check(request.worker()));
  blobs_[request.worker().rank()] = request.blob();
  cv_.notify_all();
  Clock::Real()->WaitUntil(lock, cv_, Clock::Real()->Now() + absl::Seconds(60),
                           [&] { return static_cast<int>(blobs_.size()) == world_ || !Check(request.worker()).ok(); });
  MUSTER_RETURN_IF_ERROR(Check(request.worker()));
  if (static_cast<int>(blobs_.size()) != world_) return absl::DeadlineExceededError("the gang did not form");
  v1::JoinReply reply;
  for (const auto& [rank, blob] : blobs_) reply.add_blobs(blob);
  return reply;
}

void FakeJob::OnShard(const v1::ShardReport& shard) {
  if (committed_.count(shard.step()) != 0) return;
  auto& of_step = shards_[shard.step()];
  of_step[shard.rank()] = shard;
  if (static_cast<int>(of_step.size()) < world_) return;
  std::vector<v1::ShardReport> all;
  for (const auto& [rank, report] : of_step) all.push_back(report);
  auto manifest = MergeShardReports(all);
  // A test sees that nothing is committed.
  if (!manifest.ok()) return;
  committed_[shard.step()] = *std::move(manifest);
  if (shard.holding()) {
    for (int rank = 0; rank < world_; ++rank) Fence(rank);
  }
}

absl::StatusOr<v1::ReportReply> FakeJob::Report(const v1::ReportRequest& request) {
  std::lock_guard<std::mutex> lock(mu_);
  MUSTER_RETURN_IF_ERROR(Check(request.worker()));
  const int rank = request.worker().rank();
  for (const v1::StepMetrics& m : request.steps()) {
    metrics_[m.step()] = m;
    if (fence_all_at_ > 0 && m.step() >= fence_all_at_) {
      for (int r = 0; r < world_; ++r) Fence(r);
    }
  }
  if (rank == fence_rank_ && fence_rank_at_ > 0 && request.step() >= fence_rank_at_) Fence(rank);
  // A rank that is done would wait for the fenced one's shard; the real agents end it.
  if (fenced_.count(fence_rank_) != 0 && request.step() == spec_.train().steps()) {
    Fence(rank);
    return Check(request.worker());
  }
  if (request.has_shard()) OnShard(request.shard());
  if (request.has_published()) {
    if (request.published().error().empty() && request.published().step() > 0) {
      published_.insert(request.published().step());
    }
    for (int64_t step : request.published().removed_steps()) {
      removed_.insert(step);
      committed_.erase(step);
    }
  }
  if (request.has_failure()) {
    failures_[rank] = request.failure();
    for (int r = 0; r < world_; ++r) {
      if (r != rank) Fence(r);
    }
  }
  v1::ReportReply reply;
  if (!committed_.empty()) {
    reply.set_committed_step(committed_.rbegin()->first);
    if (rank == 0 && !withhold_) {
      for (auto it = committed_.rbegin(); it != committed_.rend() && !reply.has_publish(); ++it) {
        if (published_.count(it->first) == 0) *reply.mutable_publish() = it->second;
      }
      int kept = 0;
      for (auto it = committed_.rbegin(); it != committed_.rend(); ++it) {
        if (++kept > spec_.checkpoint().keep() && published_.count(reply.committed_step()) != 0) {
          reply.add_remove_steps(it->first);
        }
      }
    }
  }
  reply.set_hold_at_checkpoint(hold_);
  return reply;
}

void FakeJob::FenceAllAtStep(int64_t step) {
  std::lock_guard<std::mutex> lock(mu_);
  fence_all_at_ = step;
}
void FakeJob::FenceRankAtStep(int rank, int64_t step) {
  std::lock_guard<std::mutex> lock(mu_);
  fence_rank_ = rank;
  fence_rank_at_ = step;
}
void FakeJob::WithholdPublish() {
  std::lock_guard<std::mutex> lock(mu_);
  withhold_ = true;
}
void FakeJob::Hold() {
  std::lock_guard<std::mutex> lock(mu_);
  hold_ = true;
}
uint64_t FakeJob::generation() {
  std::lock_guard<std::mutex> lock(mu_);
  return generation_;
}
int64_t FakeJob::committed_step() {
  std::lock_guard<std::mutex> lock(mu_);
  return committed_.empty() ? 0 : committed_.rbegin()->first;
}
std::map<int64_t, v1::StepMetrics> FakeJob::metrics() {
  std::lock_guard<std::mutex> lock(mu_);
  return metrics_;
}
std::map<int, v1::WorkerFailure> FakeJob::failures() {
  std::lock_guard<std::mutex> lock(mu_);
  return failures_;
}
std::set<int64_t> FakeJob::published() {
  std::lock_guard<std::mutex> lock(mu_);
  return published_;
}
std::set<int64_t> FakeJob::removed() {
  std::lock_guard<std::mutex> lock(mu_);
  return removed_;
}
v1::CheckpointRef FakeJob::Restore() {
  std::lock_guard<std::mutex> lock(mu_);
  return committed_.empty() ? v1::CheckpointRef() : RefOf(committed_.rbegin()->first);
}

}  // namespace muster::worker
