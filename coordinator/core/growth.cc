#include "coordinator/core/growth.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/proto_time.h"
#include "coordinator/core/lifecycle.h"
#include "coordinator/core/placement.h"
#include "coordinator/core/words.h"

namespace muster::coordinator {
namespace {

// Somebody else waits for nodes of this kind, and could run on them some day: growing would take them away.
bool OthersWait(const State& state, v1::Device device) {
  for (const auto& [number, id] : state.unfinished) {
    const Job& job = state.jobs.at(id);
    if (job.record.state() == v1::PENDING && job.record.spec().device() == device && CouldRun(state, job)) return true;
  }
  return false;
}

// Only jobs whose checkpoints Muster knows can change without losing work.
bool CanGrow(const Job& job) {
  if (!IsTrain(job) || job.record.state() != v1::JOB_RUNNING || !job.gang.has_value()) return false;
  const Gang& gang = *job.gang;
  if (gang.state != GangState::kRunning) return false;
  if (static_cast<int>(gang.nodes.size()) >= job.record.spec().nodes().max()) return false;
  // There must be a boundary before the end.
  const int64_t every = job.record.spec().checkpoint().every();
  const int64_t done = std::max(gang.newest_step, CurrentGeneration(job).restore_step());
  return (done / every + 1) * every < job.record.spec().train().steps();
}

}  // namespace

void ConsiderGrowth(Turn& turn) {
  for (const auto& [number, id] : turn.state.unfinished) {
    Job& job = turn.state.jobs.at(id);
    job.grow_at = absl::InfiniteFuture();
    if (!CanGrow(job)) continue;
    Gang& gang = *job.gang;
    const size_t possible =
        OthersWait(turn.state, job.record.spec().device()) ? 0 : Place(job, CandidatesFor(turn.state, job)).size();
    const bool more = possible > gang.nodes.size();
    const absl::Time cool = FromProto(job.record.gang_changed_at()) + FromProto(job.record.spec().elastic().cooldown());
    if (more && !gang.hold && turn.now < cool) {
      job.grow_at = cool;
      continue;
    }
    if (more == gang.hold) continue;
    // Taken back when the free nodes are gone. Workers that have stopped by then say so (ShardReport.holding).
    gang.hold = more;
    turn.AddEvent(job, more ? "GrowthPlanned" : "GrowthDropped",
                  more ? absl::StrCat("could run on ", Count(possible, "node"), " instead of ", gang.nodes.size(),
                                      "; the workers stop at the next checkpoint")
                       : "the nodes that could have joined are gone or wanted by other jobs");
    turn.TellGang(job);
  }
}

void RegroupAtCheckpoint(Turn& turn, Job& job, int64_t step) {
  if (step >= job.record.spec().train().steps()) return;
  Waiting waiting;
  waiting.cause = v1::CAUSE_GROWTH;
  waiting.why = absl::StrCat("the workers stopped at step ", step, " to let nodes join");
  waiting.detected = turn.now;
  waiting.at_once = true;
  waiting.nodes_before = static_cast<int>(job.gang->nodes.size());
  EndGeneration(turn, job, absl::StrCat("stopped at step ", step, " to let nodes join"));
  Requeue(turn, job, std::move(waiting), absl::InfinitePast());
}

}  // namespace muster::coordinator
