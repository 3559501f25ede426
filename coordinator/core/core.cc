#include "coordinator/core/core.h"

#include <utility>
#include <variant>
#include <vector>

#include "common/proto_time.h"
#include "common/status_macros.h"
#include "coordinator/core/deadlines.h"
#include "coordinator/core/failure.h"
#include "coordinator/core/gang.h"
#include "coordinator/core/growth.h"
#include "coordinator/core/lifecycle.h"
#include "coordinator/core/queue.h"
#include "coordinator/core/records.h"
#include "coordinator/core/session.h"
#include "coordinator/core/submit.h"
#include "coordinator/core/turn.h"
#include "coordinator/core/views.h"

namespace muster::coordinator {
namespace {

template <typename... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <typename... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

// What follows from any change, once the event itself is dealt with.
void Settle(Turn& turn) {
  if (turn.replan) {
    PlacePending(turn);
    ConsiderGrowth(turn);
  }
  turn.Finish();
  // What a client is told includes what followed at once.
  for (Effects::Reply& reply : turn.effects.replies) {
    if (reply.result.ok()) reply.result = ViewOfJob(turn.state, JobId(reply.result->job_id()));
  }
}

// A gang stays on a lost node only where all its ranks had exited with 0. Those exits are not stored, so after a
// restart nobody can tell of them: the node's loss counts after all, and the job goes on from its newest checkpoint.
std::vector<LostNode> LostNodesWithGangs(const State& state) {
  std::vector<LostNode> lost;
  for (const auto& [number, id] : state.unfinished) {
    const Job& job = state.jobs.at(id);
    if (!job.gang.has_value()) continue;
    for (const NodeId& node : job.gang->nodes) {
      const Node& known = state.nodes.at(node);
      if (StateOf(known) == v1::NODE_LOST) {
        lost.push_back({node, known.record.reason(), FromProto(known.record.changed_at())});
      }
    }
  }
  return lost;
}

// Streams end with the process: every node has to come back, and gets a fresh lease to do so.
void ResumeAfterRestart(Turn& turn) {
  for (auto& [id, node] : turn.state.nodes) node.lease_until = turn.now + turn.options.lease;
  for (const auto& [number, id] : turn.state.unfinished) {
    Job& job = turn.state.jobs.at(id);
    switch (job.record.state()) {
      case v1::PENDING:
        if (job.record.generation() > 0) {
          const v1::StoredGeneration& last = job.generations.at(job.record.generation());
          job.waiting.cause = v1::CAUSE_RETRY;
          job.waiting.why = last.end_reason();
          job.waiting.detected = FromProto(last.timeline().ended());
          job.waiting.nodes_before = last.nodes_size();
        } else {
          job.waiting.detected = FromProto(job.record.submitted_at());
        }
        break;
      case v1::JOB_STARTING:
      case v1::JOB_RUNNING:
        job.gang = RebuildGang(job, turn.options, turn.now);
        break;
      case v1::CANCELLING:
        job.gang = RebuildGang(job, turn.options, turn.now);
        StopGang(turn, job);
        break;
      default:
        break;
    }
  }
  LoseNodes(turn, LostNodesWithGangs(turn.state));
}

}  // namespace

Core::Core(const CoreOptions& options, std::unique_ptr<State> state) : options_(options), state_(std::move(state)) {}
Core::~Core() = default;

absl::StatusOr<std::unique_ptr<Core>> Core::Load(const CoreOptions& options,
                                                 const std::map<std::string, std::string>& records, absl::Time now,
                                                 const std::string& new_cluster_id, Effects* effects) {
  auto state = std::make_unique<State>();
  Turn turn(options, state.get(), now, effects);
  if (records.empty()) {
    state->cluster.set_schema_version(kSchemaVersion);
    state->cluster.set_cluster_id(new_cluster_id);
    state->cluster.set_next_job_number(1);
    turn.TouchCluster();
  } else {
    MUSTER_RETURN_IF_ERROR(ReadRecords(records, state.get()));
    ResumeAfterRestart(turn);
    turn.replan = true;
  }
  Settle(turn);
  return std::unique_ptr<Core>(new Core(options, std::move(state)));
}

Effects Core::Step(const Event& event, absl::Time now) {
  Effects effects;
  Turn turn(options_, state_.get(), now, &effects);
  std::visit(Overloaded{
                 [&](const ClientSubmitted& e) { OnSubmit(turn, e); },
                 [&](const ClientCancelled& e) { OnCancel(turn, e); },
                 [&](const AgentConnected& e) { OnConnected(turn, e); },
                 [&](const AgentSaid& e) { OnSaid(turn, e); },
                 [&](const AgentDisconnected& e) { OnDisconnected(turn, e); },
                 [&](const TimePassed&) { OnTimePassed(turn); },
             },
             event);
  Settle(turn);
  return effects;
}

absl::Time Core::NextDeadline() const { return EarliestDeadline(*state_); }

}  // namespace muster::coordinator
