#include "coordinator/core/checkpoint.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/checkpoint_manifest/merge.h"
#include "common/proto_time.h"
#include "coordinator/core/failure.h"
#include "coordinator/core/growth.h"
#include "coordinator/core/state.h"
#include "coordinator/core/words.h"

namespace muster::coordinator {
namespace {

absl::StatusOr<v1::CheckpointManifest> Merge(const Job& job, const std::map<int, v1::ShardReport>& reports) {
  std::vector<v1::ShardReport> all;
  for (const auto& [rank, report] : reports) all.push_back(report);
  absl::StatusOr<v1::CheckpointManifest> manifest = MergeShardReports(all);
  if (!manifest.ok()) return manifest;
  if (manifest->job_id() != job.record.job_id() || manifest->job_uid() != job.record.job_uid() ||
      manifest->generation() != job.gang->generation) {
    return absl::InvalidArgumentError(absl::StrCat("rank 0's header is of job ", manifest->job_id(), " generation ",
                                                   manifest->generation(), ", not of ", job.record.job_id(),
                                                   " generation ", job.gang->generation));
  }
  return manifest;
}

// Marks what spec.checkpoint.keep leaves no room for. One published checkpoint always stays, so that there is
// something whole on disk whatever becomes of the newest one's publishing.
void MarkOld(Turn& turn, Job& job) {
  int kept = 0;
  bool kept_published = false;
  for (auto it = job.checkpoints.rbegin(); it != job.checkpoints.rend(); ++it) {
    v1::StoredCheckpoint& checkpoint = it->second;
    if (checkpoint.removing()) continue;
    const bool keep = kept < job.record.spec().checkpoint().keep() || !kept_published;
    if (keep) {
      ++kept;
      kept_published |= checkpoint.published();
      continue;
    }
    checkpoint.set_removing(true);
    turn.TouchCheckpoint(job, checkpoint.step());
  }
}

void Commit(Turn& turn, Job& job, int64_t step, v1::CheckpointManifest manifest) {
  v1::StoredCheckpoint checkpoint;
  checkpoint.set_job_id(job.record.job_id());
  checkpoint.set_step(step);
  checkpoint.set_generation(job.gang->generation);
  checkpoint.set_path(
      absl::StrFormat("%s/%s/step-%08d", job.record.spec().checkpoint().dir(), job.record.job_id(), step));
  int64_t bytes = 0;
  for (const v1::ShardFile& file : manifest.files()) bytes += file.bytes();
  checkpoint.set_bytes(bytes);
  *checkpoint.mutable_manifest() = std::move(manifest);
  *checkpoint.mutable_committed_at() = ToProto(turn.now);
  job.checkpoints[step] = std::move(checkpoint);
  turn.TouchCheckpoint(job, step);

  job.record.set_committed_step(step);
  v1::RestartCounters& restarts = *job.record.mutable_restarts();
  const bool refunded = restarts.user() + restarts.infrastructure() > 0;
  restarts.set_user(0);
  restarts.set_infrastructure(0);
  restarts.set_without_progress(0);
  // All ranks say the same (ShardReport.holding).
  const bool holding = job.gang->shards.at(step).begin()->second.holding();
  job.gang->shards.erase(job.gang->shards.begin(), job.gang->shards.upper_bound(step));
  turn.AddEvent(job, "CheckpointCommitted",
                absl::StrCat("step ", step, ": ", Count(job.gang->workers.size(), "shard"), ", ", Count(bytes, "byte"),
                             refunded ? "; restart budgets are full again" : ""),
                {.step = step});
  MarkOld(turn, job);
  turn.TellGang(job);
  if (holding) RegroupAtCheckpoint(turn, job, step);
}

}  // namespace

void OnShard(Turn& turn, Job& job, const Worker& worker, const v1::ShardReport& shard) {
  Gang& gang = *job.gang;
  if (gang.state != GangState::kRunning || !IsTrain(job)) return;
  if (shard.step() <= job.record.committed_step() || shard.rank() != worker.rank) return;
  std::map<int, v1::ShardReport>& reports = gang.shards[shard.step()];
  reports[worker.rank] = shard;
  if (reports.size() < gang.workers.size()) return;
  absl::StatusOr<v1::CheckpointManifest> manifest = Merge(job, reports);
  if (manifest.ok()) {
    Commit(turn, job, shard.step(), *std::move(manifest));
    return;
  }
  // Without this the workers would wait for ever for a commit that cannot be.
  Failure failure = FailureOf(worker, gang.generation);
  failure.blame = Blame::kUser;
  failure.what =
      absl::StrCat("the shards of step ", shard.step(), " make no checkpoint: ", manifest.status().message());
  failure.report.set_message(failure.what);
  failure.detected = turn.now;
  FailGang(turn, job, failure);
}

void OnPublished(Turn& turn, Job& job, const v1::CheckpointPublished& published) {
  const NodeId node = job.gang->nodes.front();
  for (int64_t step : published.removed_steps()) {
    auto it = job.checkpoints.find(step);
    if (it == job.checkpoints.end() || !it->second.removing()) continue;
    turn.EraseCheckpoint(job, step);
    turn.AddEvent(job, "CheckpointRemoved", absl::StrCat("step ", step), {.node = node, .step = step});
    turn.Tell(node);
  }
  auto it = job.checkpoints.find(published.step());
  if (it == job.checkpoints.end() || it->second.published()) return;
  if (!published.error().empty()) {
    // The directive stays, so rank 0 tries again.
    turn.AddEvent(job, "CheckpointNotPublished", absl::StrCat("step ", published.step(), ": ", published.error()),
                  {.node = node, .rank = 0, .step = published.step()});
    return;
  }
  it->second.set_published(true);
  turn.TouchCheckpoint(job, published.step());
  turn.AddEvent(job, "CheckpointPublished", absl::StrCat("step ", published.step(), " at ", it->second.path()),
                {.node = node, .rank = 0, .step = published.step()});
  MarkOld(turn, job);
  turn.Tell(node);
}

void DropUnpublished(Turn& turn, Job& job) {
  const v1::StoredCheckpoint* newest = NewestCheckpoint(job);
  for (auto& [step, checkpoint] : job.checkpoints) {
    if (checkpoint.published() || checkpoint.removing() || &checkpoint == newest) continue;
    // It may have been published for all that, and the word of it lost: rank 0 is told to remove it.
    checkpoint.set_removing(true);
    turn.TouchCheckpoint(job, step);
  }
}

}  // namespace muster::coordinator
