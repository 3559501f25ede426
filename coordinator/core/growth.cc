#include "coordinator/core/growth.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/proto_time.h"
#include "coordinator/core/lifecycle.h"
#include "coordinator/core/placement.h"

namespace muster::coordinator {
namespace {

// Somebody else waits for nodes of this kind: growing would take them away.
bool OthersWait(const State& state, v1::Device device) {
  for (const auto& [id, job] : state.jobs) {
    if (job.record.state() == v1::PENDING && job.record.spec().device() == device) return true;
  }
  return false;
}

// Only jobs whose checkpoints Muster knows can change without losing work.
bool CanGrow(const Job& job) {
  if (!IsTrain(job) || job.record.state() != v1::JOB_RUNNING || !job.gang.has_value()) return false;
  const Gang& gang = *job.gang;
  if (gang.state != GangState::kRunning || gang.hold) return false;
  if (static_cast<int>(gang.nodes.size()) >= job.record.spec().nodes().max()) return false;
  // There must be a boundary before the end.
  const int64_t every = job.record.spec().checkpoint().every();
  const int64_t done = std::max(gang.newest_step, CurrentGeneration(job).restore_step());
  return (done / every + 1) * every < job.record.spec().train().steps();
}

}  // namespace

void ConsiderGrowth(Turn& turn) {
  for (const auto& [number, id] : turn.state.jobs_by_number) {
    Job& job = turn.state.jobs.at(id);
    job.grow_at = absl::InfiniteFuture();
    if (!CanGrow(job) || OthersWait(turn.state, job.record.spec().device())) continue;
    Gang& gang = *job.gang;
    std::vector<Candidate> candidates = CandidatesFor(turn.state, job);
    const std::vector<v1::PlacedNode> placed = Place(job, std::move(candidates));
    if (placed.size() <= gang.nodes.size()) continue;
    const absl::Time cool =
        FromProto(job.record.gang_changed_at()) + FromProto(job.record.spec().elastic().cooldown());
    if (turn.now < cool) {
      job.grow_at = cool;
      continue;
    }
    gang.hold = true;
    turn.AddEvent(job, "GrowthPlanned",
                  absl::StrCat("could run on ", placed.size(), " nodes instead of ", gang.nodes.size(),
                               "; the workers stop at the next checkpoint"));
    turn.TellGang(job);
  }
}

void GrowAtCheckpoint(Turn& turn, Job& job, int64_t step) {
  if (!job.gang->hold || step >= job.record.spec().train().steps()) return;
  Waiting waiting;
  waiting.cause = v1::CAUSE_GROWTH;
  waiting.why = absl::StrCat("step ", step, " is committed and nodes are free");
  waiting.detected = turn.now;
  waiting.at_once = true;
  waiting.nodes_before = static_cast<int>(job.gang->nodes.size());
  EndGeneration(turn, job, absl::StrCat("stopped at step ", step, " to grow"));
  Requeue(turn, job, std::move(waiting), absl::InfinitePast());
}

}  // namespace muster::coordinator
