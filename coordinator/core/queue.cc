#include "coordinator/core/queue.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/proto_time.h"
#include "coordinator/core/gang.h"
#include "coordinator/core/lifecycle.h"
#include "coordinator/core/placement.h"
#include "coordinator/core/words.h"

namespace muster::coordinator {
namespace {

absl::Time RetryAt(const Job& job) {
  return job.record.has_retry_at() ? FromProto(job.record.retry_at()) : absl::InfinitePast();
}

// Until when a node of the job's last gang may come back, and which one. A node whose stream is broken is not failed
// yet; going on without it would shrink the job for the restart of an agent.
std::pair<absl::Time, std::string> MayComeBack(const State& state, const Job& job) {
  std::pair<absl::Time, std::string> out = {absl::InfinitePast(), ""};
  for (const std::string& name : job.record.last_nodes()) {
    auto it = state.nodes.find(NodeId(name));
    if (it == state.nodes.end() || StateOf(it->second) != v1::NODE_UNREACHABLE) continue;
    if (job.avoided.count(it->first) > 0) continue;
    if (it->second.lease_until > out.first) out = {it->second.lease_until, name};
  }
  return out;
}

std::string Nodes(int n) { return Count(n, "node"); }

void Wait(Turn& turn, Job& job, const std::string& shortage) {
  const std::string reason = job.waiting.why.empty() ? shortage : absl::StrCat(job.waiting.why, "; ", shortage);
  if (job.record.reason() == reason) return;
  SetJobState(turn, job, v1::PENDING, reason);
  turn.AddEvent(job, "Waiting", reason);
}

std::string DecisionWords(const Job& job, int count) {
  const v1::NodeRange& range = job.record.spec().nodes();
  const int before = job.waiting.nodes_before;
  if (job.waiting.cause == v1::CAUSE_FIRST_START && before == 0) {
    return absl::StrCat("first start on ", Nodes(count), " (", range.min(), " to ", range.max(), " asked for)");
  }
  std::string words = job.waiting.why.empty() ? "waited for nodes" : job.waiting.why;
  if (before == 0 || before == count) {
    absl::StrAppend(&words, "; go on with ", Nodes(count));
  } else if (count < before) {
    absl::StrAppend(&words, "; ", count, " of ", before, " nodes left, at least ", range.min(), " needed: shrink to ",
                    count);
  } else {
    absl::StrAppend(&words, "; grow from ", before, " to ", Nodes(count));
  }
  return words;
}

// The nodes of `placed` that take a place the job had another node in.
std::string Replacements(const Job& job, const std::vector<v1::PlacedNode>& placed) {
  std::string words;
  for (const v1::PlacedNode& node : placed) {
    if (node.node_rank() >= job.record.last_nodes_size()) break;
    const std::string& before = job.record.last_nodes(node.node_rank());
    if (before != node.node_id()) {
      absl::StrAppend(&words, "; ", node.node_id(), " takes ", before, "'s place (node rank ", node.node_rank(), ")");
    }
  }
  return words;
}

void TryPlace(Turn& turn, Job& job) {
  job.waiting.check_at = absl::InfiniteFuture();
  if (turn.now < RetryAt(job)) {
    job.waiting.check_at = RetryAt(job);
    Wait(turn, job,
         absl::StrCat("failed ", job.record.restarts().without_progress(), " times without progress, next try at ",
                      TimeOfDay(RetryAt(job))));
    return;
  }
  const std::vector<Candidate> candidates = CandidatesFor(turn.state, job);
  const v1::NodeRange& range = job.record.spec().nodes();
  const int fit = static_cast<int>(candidates.size());
  if (fit < range.min()) {
    job.waiting.at_once = false;
    job.waiting.gather_until = absl::InfiniteFuture();
    Wait(turn, job, DescribeShortage(turn.state, job, candidates));
    return;
  }
  if (fit < range.max()) {
    const auto [back_until, back] = MayComeBack(turn.state, job);
    if (turn.now < back_until) {
      job.waiting.check_at = back_until;
      Wait(turn, job, absl::StrCat("node ", back, " is unreachable and may come back until ", TimeOfDay(back_until)));
      return;
    }
    if (!job.waiting.at_once) {
      if (job.waiting.gather_until == absl::InfiniteFuture()) {
        job.waiting.gather_until = turn.now + turn.options.gather_window;
      }
      if (turn.now < job.waiting.gather_until) {
        job.waiting.check_at = job.waiting.gather_until;
        Wait(turn, job,
             absl::StrCat(fit, fit == 1 ? " node is" : " nodes are", " free; waiting until ",
                          TimeOfDay(job.waiting.gather_until), " for up to ", range.max()));
        return;
      }
    }
  }
  std::vector<v1::PlacedNode> placed = Place(job, candidates);
  const std::string reason =
      absl::StrCat(DecisionWords(job, static_cast<int>(placed.size())), Replacements(job, placed));
  StartGeneration(turn, job, std::move(placed), reason);
}

}  // namespace

void PlacePending(Turn& turn) {
  for (const auto& [number, id] : turn.state.unfinished) {
    Job& job = turn.state.jobs.at(id);
    if (job.record.state() == v1::PENDING) TryPlace(turn, job);
  }
}

}  // namespace muster::coordinator
