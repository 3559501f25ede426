#include "coordinator/core/failure.h"

#include <algorithm>
#include <csignal>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/proto_time.h"
#include "coordinator/core/exit_words.h"
#include "coordinator/core/lifecycle.h"

namespace muster::coordinator {
namespace {

constexpr absl::Duration kMaxBackOff = absl::Seconds(60);
constexpr absl::Duration kLongRun = absl::Minutes(1);

bool SaysPeerLost(const Worker& worker) {
  return worker.failure.has_value() && worker.failure->kind() == v1::PEER_LOST;
}

// 0, 1, 2, 4 ... 60 s.
absl::Duration BackOff(int failures_without_progress) {
  if (failures_without_progress <= 1) return absl::ZeroDuration();
  const int doublings = std::min(failures_without_progress - 2, 6);
  return std::min(absl::Seconds(1 << doublings), kMaxBackOff);
}

// A command tells of no steps; that it ran for a while is its progress.
void ForgiveAfterLongRun(const Turn& turn, Job& job) {
  const v1::GenerationTimeline& timeline = CurrentGeneration(job).timeline();
  if (IsTrain(job) || !timeline.has_workers_up()) return;
  if (turn.now - FromProto(timeline.workers_up()) >= kLongRun) job.record.mutable_restarts()->set_without_progress(0);
}

// Draws on the budget. False: there was nothing left.
bool Draw(Job& job, const Failure& failure) {
  v1::RestartCounters& used = *job.record.mutable_restarts();
  const v1::RestartSpec& budget = job.record.spec().restarts();
  if (failure.blame == Blame::kNobody) return true;
  const bool user = failure.blame == Blame::kUser;
  if (user ? used.user() >= budget.user() : used.infrastructure() >= budget.infrastructure()) return false;
  if (user) {
    used.set_user(used.user() + 1);
  } else {
    used.set_infrastructure(used.infrastructure() + 1);
  }
  used.set_total(used.total() + 1);
  used.set_without_progress(used.without_progress() + 1);
  return true;
}

// The nodes of the gang whose stream is broken, other than those of a worker that lost its peer: a worker cannot be its
// own evidence.
std::vector<LostNode> BrokenNodesWithPeersLost(const Turn& turn, const Job& job) {
  std::vector<int> witnesses;
  for (const Worker& worker : job.gang->workers) {
    if (SaysPeerLost(worker) && StateOf(turn.state.nodes.at(worker.node)) == v1::NODE_READY) {
      witnesses.push_back(worker.rank);
    }
  }
  std::vector<LostNode> lost;
  if (witnesses.empty()) return lost;
  for (const NodeId& id : job.gang->nodes) {
    const Node& node = turn.state.nodes.at(id);
    if (StateOf(node) != v1::NODE_UNREACHABLE) continue;
    // After a restart of the coordinator every stream is "broken" until its agent is back; that is no evidence.
    if (node.disconnected_at == absl::InfinitePast()) continue;
    lost.push_back({id,
                    absl::StrCat(node.disconnect_reason, ", and rank ", absl::StrJoin(witnesses, ", "), " lost a peer"),
                    std::min(node.disconnected_at, job.gang->evidence_at)});
  }
  return lost;
}

// A command cannot say that it lost a peer; that it fails while a node of its gang is out of reach says so for it.
void BlameUnreachableNode(const Turn& turn, const Job& job, const Worker& failed, Failure* failure) {
  if (IsTrain(job) || failure->blame != Blame::kUser || !failed.exit.start_error().empty()) return;
  for (const NodeId& id : job.gang->nodes) {
    const Node& node = turn.state.nodes.at(id);
    if (id == failed.node || StateOf(node) != v1::NODE_UNREACHABLE) continue;
    failure->blame = Blame::kInfrastructure;
    absl::StrAppend(&failure->what, " while node ", id.value(), " is out of reach (", node.disconnect_reason, ")");
    return;
  }
}

}  // namespace

Failure FailureOf(const Worker& worker, uint64_t generation) {
  Failure failure;
  const std::string who = absl::StrCat("rank ", worker.rank, " on ", worker.node.value());
  failure.report.set_generation(generation);
  failure.report.set_rank(worker.rank);
  failure.report.set_node_id(worker.node.value());
  if (worker.state == v1::EXITED) *failure.report.mutable_exit() = worker.exit;
  failure.what =
      worker.state == v1::EXITED ? absl::StrCat(who, " ", DescribeExit(worker.exit)) : absl::StrCat(who, " failed");
  if (worker.failure.has_value()) {
    failure.report.set_message(worker.failure->message());
    absl::StrAppend(&failure.what, ": ", worker.failure->message());
    failure.permanent = worker.failure->kind() == v1::PERMANENT;
  } else if (!worker.exit.last_lines().empty() && worker.exit.signal() != SIGKILL) {
    // Of a program that ended by itself; one that was killed had nothing to say of it.
    failure.report.set_message(*worker.exit.last_lines().rbegin());
    absl::StrAppend(&failure.what, "; its last line: ", failure.report.message());
  }
  if (failure.report.message().empty()) failure.report.set_message(failure.what);
  failure.blame = EndedFromOutside(worker.exit) || SaysPeerLost(worker) ? Blame::kInfrastructure : Blame::kUser;
  failure.at_once = worker.exit.port_conflict();
  return failure;
}

void FailGang(Turn& turn, Job& job, const Failure& failure) {
  const int nodes_before = static_cast<int>(job.gang->nodes.size());
  const char* type = failure.cause == v1::CAUSE_NODE_LOST ? "NodeLost" : "WorkerFailed";
  turn.AddEvent(job, failure.blame == Blame::kNobody ? "GangNotPrepared" : type, failure.what,
                {.node = NodeId(failure.report.node_id()), .rank = failure.report.rank()});
  ForgiveAfterLongRun(turn, job);
  EndGeneration(turn, job, failure.what, failure.report);
  const bool left = failure.permanent || Draw(job, failure);
  if (failure.permanent || !left) {
    *job.record.mutable_failure() = failure.report;
    const v1::RestartSpec& budget = job.record.spec().restarts();
    std::string reason = failure.what;
    if (failure.permanent) {
      absl::StrAppend(&reason, " (a restart would fail again)");
    } else if (failure.blame == Blame::kUser) {
      absl::StrAppend(&reason, " (restarts.user: all ", budget.user(), " used without a new checkpoint)");
    } else {
      absl::StrAppend(&reason, " (restarts.infrastructure: all ", budget.infrastructure(),
                      " used without a new checkpoint)");
    }
    FinishJob(turn, job, v1::FAILED, reason);
    return;
  }
  Waiting waiting;
  waiting.cause = failure.cause;
  waiting.why = failure.what;
  waiting.detected = failure.detected;
  waiting.at_once = true;
  waiting.nodes_before = nodes_before;
  const absl::Duration back_off = failure.at_once || failure.blame == Blame::kNobody
                                      ? absl::ZeroDuration()
                                      : BackOff(job.record.restarts().without_progress());
  Requeue(turn, job, std::move(waiting), back_off > absl::ZeroDuration() ? turn.now + back_off : absl::InfinitePast());
}

void OnWorkerFailure(Turn& turn, Job& job, Worker& worker, const v1::WorkerFailure& failure) {
  Gang& gang = *job.gang;
  if (worker.failure.has_value() || gang.state == GangState::kStopping || worker.state == v1::EXITED) return;
  worker.failure = failure;
  gang.evidence_at = std::min(gang.evidence_at, turn.now);
  // Its exit, or the cause with the peer, should follow at once.
  gang.diagnose_until = std::min(gang.diagnose_until, turn.now + turn.options.diagnose_window);
  if (failure.kind() == v1::PEER_LOST) {
    if (std::vector<LostNode> lost = BrokenNodesWithPeersLost(turn, job); !lost.empty()) LoseNodes(turn, lost);
  }
}

void OnWorkerExit(Turn& turn, Job& job, Worker& worker) {
  Gang& gang = *job.gang;
  if (gang.state == GangState::kStopping) {
    FinishIfStopped(turn, job);
    return;
  }
  if (ExitedWell(worker)) {
    FinishIfAllExited(turn, job);
    return;
  }
  gang.evidence_at = std::min(gang.evidence_at, turn.now);
  if (SaysPeerLost(worker)) return;  // collateral: the diagnose window is running
  Failure failure = FailureOf(worker, gang.generation);
  failure.detected = gang.evidence_at;
  BlameUnreachableNode(turn, job, worker, &failure);
  FailGang(turn, job, failure);
}

void OnWorkerMissing(Turn& turn, Job& job, Worker& worker) {
  if (job.gang->state == GangState::kStopping) {
    worker.gone = true;
    FinishIfStopped(turn, job);
    return;
  }
  Failure failure = FailureOf(worker, job.gang->generation);
  failure.blame = Blame::kInfrastructure;
  failure.what =
      absl::StrCat("rank ", worker.rank, " on ", worker.node.value(), " is gone: its agent came back without it");
  failure.report.set_message(failure.what);
  failure.detected = turn.now;
  FailGang(turn, job, failure);
}

void OnNodeUnreachable(Turn& turn, const NodeId& node) {
  std::map<NodeId, LostNode> lost;
  for (const auto& [number, id] : turn.state.unfinished) {
    Job& job = turn.state.jobs.at(id);
    if (!job.gang.has_value() || job.gang->state == GangState::kStopping || !GangHasNode(*job.gang, node)) continue;
    for (LostNode& broken : BrokenNodesWithPeersLost(turn, job)) lost.emplace(broken.node, std::move(broken));
  }
  std::vector<LostNode> all;
  for (auto& [id, broken] : lost) all.push_back(std::move(broken));
  if (!all.empty()) LoseNodes(turn, all);
}

void LoseNodes(Turn& turn, const std::vector<LostNode>& lost) {
  std::map<NodeId, const LostNode*> by_id;
  // All are marked before any gang is placed again.
  for (const LostNode& item : lost) {
    by_id[item.node] = &item;
    Node& node = turn.state.nodes.at(item.node);
    node.record.set_lost(true);
    node.record.set_reason(item.why);
    *node.record.mutable_changed_at() = ToProto(turn.now);
    turn.Touch(item.node);
    if (node.session.has_value()) {
      turn.effects.end_sessions.push_back(
          {*node.session, absl::UnavailableError("the node's lease was over; register again")});
      turn.state.sessions.erase(*node.session);
      node.session.reset();
    }
    turn.replan = true;
  }
  const std::map<uint64_t, JobId> jobs = turn.state.unfinished;
  for (const auto& [number, id] : jobs) {
    Job& job = turn.state.jobs.at(id);
    if (!job.gang.has_value()) continue;
    std::vector<std::string> whats;
    Failure failure;
    failure.cause = v1::CAUSE_NODE_LOST;
    failure.detected = turn.now;
    for (Worker& worker : job.gang->workers) {
      auto it = by_id.find(worker.node);
      if (it == by_id.end()) continue;
      if (job.gang->state == GangState::kStopping) worker.gone = true;
      if (ExitedWell(worker)) continue;  // it had nothing left to do
      const std::string what = absl::StrCat("node ", worker.node.value(), " lost (", it->second->why, ")");
      if (std::find(whats.begin(), whats.end(), what) != whats.end()) continue;
      if (whats.empty()) {
        failure.report.set_generation(job.gang->generation);
        failure.report.set_rank(worker.rank);
        failure.report.set_node_id(worker.node.value());
        failure.report.set_message(what);
      }
      failure.detected = std::min(failure.detected, it->second->detected);
      whats.push_back(what);
    }
    if (job.gang->state == GangState::kStopping) {
      FinishIfStopped(turn, job);
    } else if (!whats.empty()) {
      failure.what = absl::StrJoin(whats, ", ");
      FailGang(turn, job, failure);
    }
  }
}

void OnDiagnoseWindowOver(Turn& turn, Job& job) {
  Gang& gang = *job.gang;
  gang.diagnose_until = absl::InfiniteFuture();
  // A worker that told of its own failure is the cause, whether it has exited or not.
  std::vector<int> lost_a_peer;
  const Worker* first = nullptr;
  for (const Worker& worker : gang.workers) {
    if (!worker.failure.has_value()) continue;
    if (!SaysPeerLost(worker)) {
      Failure failure = FailureOf(worker, gang.generation);
      failure.detected = gang.evidence_at;
      FailGang(turn, job, failure);
      return;
    }
    lost_a_peer.push_back(worker.rank);
    if (first == nullptr) first = &worker;
  }
  if (first == nullptr) return;
  Failure failure = FailureOf(*first, gang.generation);
  failure.blame = Blame::kInfrastructure;
  failure.what = absl::StrCat("rank ", absl::StrJoin(lost_a_peer, ", "), " lost a peer (", first->failure->message(),
                              ") and no cause was found within ", absl::FormatDuration(turn.options.diagnose_window));
  failure.detected = gang.evidence_at;
  FailGang(turn, job, failure);
}

}  // namespace muster::coordinator
