#ifndef MUSTER_WORKER_RUNTIME_FAKE_JOB_H_
#define MUSTER_WORKER_RUNTIME_FAKE_JOB_H_

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "proto/worker.pb.h"
#include "worker/runtime/agent_link.h"

namespace muster::worker {

// The agents and the coordinator of one job, as far as its workers can tell: generations, the gang barrier, commits,
// directives. For tests. Thread-safe.
class FakeJob {
 public:
  explicit FakeJob(v1::JobSpec spec) : spec_(std::move(spec)) {}

  // From now on only `world` ranks of the next generation are known. It restores from the newest commit.
  void StartGeneration(int world);
  v1::WorkerRef Worker(int rank);
  std::unique_ptr<AgentLink> Agent(int rank);

  // Of the current generation: all its ranks are disowned once rank 0 has told of this step.
  void FenceAllAtStep(int64_t step);
  void FenceRankAtStep(int rank, int64_t step);
  // Commits are not published in this generation: the next one's rank 0 is left to do it.
  void WithholdPublish();
  // hold_at_checkpoint; all ranks are disowned once a checkpoint at which they hold is committed.
  void Hold();

  v1::JobSpec& spec() { return spec_; }
  uint64_t generation();
  int64_t committed_step();
  // Of every step, the newest generation's.
  std::map<int64_t, v1::StepMetrics> metrics();
  std::map<int, v1::WorkerFailure> failures();
  std::set<int64_t> published();
  std::set<int64_t> removed();
  v1::CheckpointRef Restore();

 private:
  friend class FakeAgent;
  absl::StatusOr<v1::HelloReply> Hello(const v1::HelloRequest& request);
  absl::StatusOr<v1::JoinReply> Join(const v1::JoinRequest& request);
  absl::StatusOr<v1::ReportReply> Report(const v1::ReportRequest& request);

  absl::Status Check(const v1::WorkerRef& worker) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Fence(int rank) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnShard(const v1::ShardReport& shard) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  v1::CheckpointRef RefOf(int64_t step) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  v1::JobSpec spec_;
  std::mutex mu_;
  std::condition_variable cv_;
  // Of the job.
  uint64_t generation_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<int64_t, v1::CheckpointManifest> committed_ ABSL_GUARDED_BY(mu_);
  std::set<int64_t> published_ ABSL_GUARDED_BY(mu_);
  std::set<int64_t> removed_ ABSL_GUARDED_BY(mu_);
  std::map<int64_t, v1::StepMetrics> metrics_ ABSL_GUARDED_BY(mu_);
  // Of the generation.
  int world_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t restore_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t fence_all_at_ ABSL_GUARDED_BY(mu_) = 0;
  int fence_rank_ ABSL_GUARDED_BY(mu_) = -1;
  int64_t fence_rank_at_ ABSL_GUARDED_BY(mu_) = 0;
  bool withhold_ ABSL_GUARDED_BY(mu_) = false;
  bool hold_ ABSL_GUARDED_BY(mu_) = false;
  std::set<int> fenced_ ABSL_GUARDED_BY(mu_);
  std::map<int, std::string> blobs_ ABSL_GUARDED_BY(mu_);
  std::map<int64_t, std::map<int, v1::ShardReport>> shards_ ABSL_GUARDED_BY(mu_);
  std::map<int, v1::WorkerFailure> failures_ ABSL_GUARDED_BY(mu_);
};

}  // namespace muster::worker

#endif  // MUSTER_WORKER_RUNTIME_FAKE_JOB_H_
