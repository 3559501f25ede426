#include "coordinator/core/deadlines.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/core/failure.h"
#include "coordinator/core/gang.h"
#include "coordinator/core/lifecycle.h"

namespace muster::coordinator {
namespace {

// Called this much too late, the coordinator itself stood still (stopped, swapped out, a stalled disk): the silence is
// its own, and says nothing about the nodes.
constexpr absl::Duration kOwnStall = absl::Seconds(1);

// What came in meanwhile is still to be read: everybody gets time again.
void ForgiveStall(Turn& turn) {
  for (auto& [id, node] : turn.state.nodes)
    node.lease_until = std::max(node.lease_until, turn.now + turn.options.lease);
  for (const auto& [number, id] : turn.state.unfinished) {
    Job& job = turn.state.jobs.at(id);
    if (!job.gang.has_value()) continue;
    job.gang->deadline = std::max(job.gang->deadline, turn.now + turn.options.lease);
    if (job.gang->diagnose_until <= turn.now) job.gang->diagnose_until = turn.now + turn.options.diagnose_window;
  }
}

void LeasesOver(Turn& turn) {
  std::vector<LostNode> lost;
  for (auto& [id, node] : turn.state.nodes) {
    if (StateOf(node) == v1::NODE_LOST || node.lease_until > turn.now) continue;
    std::string why = absl::StrCat("nothing heard for ", absl::FormatDuration(turn.options.lease));
    if (!node.session.has_value()) {
      const bool broke = node.disconnected_at != absl::InfinitePast();
      why = broke ? absl::StrCat(node.disconnect_reason, ", and it did not come back before its lease was over")
                  : "it did not come back after the coordinator's restart";
    }
    lost.push_back({id, why, turn.now});
  }
  if (!lost.empty()) LoseNodes(turn, lost);
}

void GangDeadlines(Turn& turn, Job& job) {
  if (job.gang->diagnose_until <= turn.now) OnDiagnoseWindowOver(turn, job);
  if (!job.gang.has_value() || job.gang->deadline > turn.now) return;
  switch (job.gang->state) {
    case GangState::kPreparing:
      OnPrepareTimeout(turn, job);
      return;
    case GangState::kJoining:
      OnJoinTimeout(turn, job);
      return;
    case GangState::kStopping:
      OnStopTimeout(turn, job);
      return;
    case GangState::kRunning:
      return;
  }
}

}  // namespace

absl::Time EarliestDeadline(const State& state) {
  absl::Time earliest = absl::InfiniteFuture();
  for (const auto& [id, node] : state.nodes) {
    if (StateOf(node) != v1::NODE_LOST) earliest = std::min(earliest, node.lease_until);
  }
  for (const auto& [number, id] : state.unfinished) {
    const Job& job = state.jobs.at(id);
    if (job.record.state() == v1::PENDING) earliest = std::min(earliest, job.waiting.check_at);
    for (const auto& [node, quarantine] : job.avoided) earliest = std::min(earliest, quarantine.until);
    if (!job.gang.has_value()) continue;
    earliest = std::min({earliest, job.grow_at, job.gang->deadline, job.gang->diagnose_until});
  }
  return earliest;
}

void OnTimePassed(Turn& turn) {
  if (turn.now - EarliestDeadline(turn.state) > kOwnStall) ForgiveStall(turn);
  LeasesOver(turn);
  const std::map<uint64_t, JobId> jobs = turn.state.unfinished;
  for (const auto& [number, id] : jobs) {
    Job& job = turn.state.jobs.at(id);
    for (auto it = job.avoided.begin(); it != job.avoided.end();) {
      it = it->second.until <= turn.now ? job.avoided.erase(it) : std::next(it);
    }
    if (job.gang.has_value()) GangDeadlines(turn, job);
  }
  turn.replan = true;
}

}  // namespace muster::coordinator
