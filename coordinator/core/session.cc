#include "coordinator/core/session.h"

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/proto_time.h"
#include "common/version.h"
#include "coordinator/core/checkpoint.h"
#include "coordinator/core/failure.h"
#include "coordinator/core/gang.h"
#include "coordinator/core/progress.h"
#include "coordinator/core/registration.h"

namespace muster::coordinator {
namespace {

// The job, if `generation` is its current one and it has workers on `node`. Anything else is of an old generation, or
// makes no sense, and changes nothing.
Job* CurrentJob(State& state, const std::string& id, uint64_t generation, const NodeId& node) {
  auto it = state.jobs.find(JobId(id));
  if (it == state.jobs.end() || !it->second.gang.has_value()) return nullptr;
  const Gang& gang = *it->second.gang;
  return gang.generation == generation && GangHasNode(gang, node) ? &it->second : nullptr;
}

// Another agent that was given the same node id is kept out while the first may live.
absl::Status CheckOnlyOne(const Turn& turn, const v1::Register& registration) {
  auto it = turn.state.nodes.find(NodeId(registration.node_id()));
  if (it == turn.state.nodes.end()) return absl::OkStatus();
  const Node& node = it->second;
  if (node.record.agent_uid() == registration.agent_uid() || StateOf(node) == v1::NODE_LOST) return absl::OkStatus();
  return absl::AlreadyExistsError(
      absl::StrCat("another agent with node id ", registration.node_id(), " (address ", node.record.address(),
                   ") is connected or its lease is not over; give each agent its own --node-id"));
}

void TakeOver(Turn& turn, Node& node) {
  if (!node.session.has_value()) return;
  turn.effects.end_sessions.push_back({*node.session, absl::AbortedError("a newer session of this agent took over")});
  turn.state.sessions.erase(*node.session);
  node.session.reset();
}

void Record(Turn& turn, Node& node, const AgentConnected& event) {
  const v1::Register& r = event.registration;
  node.session = event.session;
  node.incarnation = r.incarnation();
  node.last_seen = turn.now;
  node.lease_until = turn.now + turn.options.lease;
  turn.state.sessions[event.session] = NodeId(r.node_id());
  v1::StoredNode& record = node.record;
  record.set_node_id(r.node_id());
  record.set_agent_uid(r.agent_uid());
  record.set_address(r.address());
  *record.mutable_slots() = r.slots();
  record.set_version(r.version());
  if (!record.has_first_seen()) *record.mutable_first_seen() = ToProto(turn.now);
  *record.mutable_changed_at() = ToProto(turn.now);
  record.set_lost(false);
  record.clear_reason();
  turn.Touch(NodeId(r.node_id()));
}

void Welcome(Turn& turn, const NodeId& node) {
  v1::CoordinatorMessage message;
  message.mutable_welcome()->set_cluster_id(turn.state.cluster.cluster_id());
  *message.mutable_welcome()->mutable_lease() = ToProto(turn.options.lease);
  *message.mutable_welcome()->mutable_heartbeat_interval() = ToProto(turn.options.heartbeat_interval);
  message.mutable_welcome()->set_version(kVersion);
  turn.Send(node, std::move(message));
}

void OnWorker(Turn& turn, const NodeId& node, const v1::WorkerStatus& status) {
  if (Job* job = CurrentJob(turn.state, status.job_id(), status.generation(), node)) {
    OnWorkerStatus(turn, *job, node, status);
  }
}

// Whether the agent must hold the worker. One that was never heard of may just not be started yet, unless the whole
// gang was up.
bool MustBeThere(const Gang& gang, const Worker& worker) {
  if (worker.state == v1::EXITED || gang.state == GangState::kPreparing) return false;
  return gang.state != GangState::kJoining || worker.state != v1::WORKER_STATE_UNSPECIFIED;
}

// The agent says all it runs; the gangs on it are brought in line with that.
void Reconcile(Turn& turn, const NodeId& node, const v1::Register& registration) {
  std::set<std::pair<std::string, int>> held;
  for (const v1::WorkerStatus& status : registration.workers()) {
    Job* job = CurrentJob(turn.state, status.job_id(), status.generation(), node);
    if (job != nullptr) held.emplace(status.job_id(), status.rank());
  }
  for (const v1::GangPrepared& prepared : registration.prepared()) {
    if (Job* job = CurrentJob(turn.state, prepared.job_id(), prepared.generation(), node)) {
      OnPrepared(turn, *job, node, prepared);
    }
  }
  for (const v1::WorkerStatus& status : registration.workers()) OnWorker(turn, node, status);
  const std::map<uint64_t, JobId> jobs = turn.state.unfinished;
  for (const auto& [number, id] : jobs) {
    Job& job = turn.state.jobs.at(id);
    if (!job.gang.has_value() || !GangHasNode(*job.gang, node)) continue;
    for (Worker& worker : job.gang->workers) {
      if (worker.node != node || held.count({id.value(), worker.rank}) > 0) continue;
      if (!MustBeThere(*job.gang, worker)) continue;
      OnWorkerMissing(turn, job, worker);
      if (!job.gang.has_value()) break;
    }
    if (job.gang.has_value()) {
      for (const NodeId& other : job.gang->nodes) ResendJoined(turn, job, other);
    }
  }
}

}  // namespace

void OnConnected(Turn& turn, const AgentConnected& event) {
  absl::Status status = CheckRegistration(event.registration);
  if (status.ok()) status = CheckOnlyOne(turn, event.registration);
  if (!status.ok()) {
    turn.effects.end_sessions.push_back({event.session, status});
    return;
  }
  const NodeId id(event.registration.node_id());
  Node& node = turn.state.nodes[id];
  TakeOver(turn, node);
  Record(turn, node, event);
  Welcome(turn, id);
  Reconcile(turn, id, event.registration);
  turn.Tell(id);
  turn.replan = true;
}

void OnSaid(Turn& turn, const AgentSaid& event) {
  auto session = turn.state.sessions.find(event.session);
  if (session == turn.state.sessions.end()) return;
  const NodeId id = session->second;
  Node& node = turn.state.nodes.at(id);
  node.last_seen = turn.now;
  node.lease_until = turn.now + turn.options.lease;
  State& state = turn.state;
  const v1::AgentMessage& m = event.message;
  switch (m.body_case()) {
    case v1::AgentMessage::kHeartbeat: {
      v1::CoordinatorMessage ack;
      ack.mutable_heartbeat_ack()->set_seq(m.heartbeat().seq());
      turn.Send(id, std::move(ack));
      return;
    }
    case v1::AgentMessage::kPrepared:
      if (Job* job = CurrentJob(state, m.prepared().job_id(), m.prepared().generation(), id)) {
        OnPrepared(turn, *job, id, m.prepared());
      }
      return;
    case v1::AgentMessage::kWorker:
      OnWorker(turn, id, m.worker());
      return;
    case v1::AgentMessage::kProgress:
      if (Job* job = CurrentJob(state, m.progress().job_id(), m.progress().generation(), id)) {
        OnProgress(turn, *job, id, m.progress());
      }
      return;
    case v1::AgentMessage::kFailure:
      if (Job* job = CurrentJob(state, m.failure().job_id(), m.failure().generation(), id)) {
        const int rank = m.failure().rank();
        if (rank < 0 || rank >= static_cast<int>(job->gang->workers.size())) return;
        Worker& worker = job->gang->workers[rank];
        if (worker.node == id) OnWorkerFailure(turn, *job, worker, m.failure());
      }
      return;
    case v1::AgentMessage::kPublished:
      if (Job* job = CurrentJob(state, m.published().job_id(), m.published().generation(), id)) {
        if (job->gang->nodes.front() == id) OnPublished(turn, *job, m.published());
      }
      return;
    case v1::AgentMessage::kRegister:
    case v1::AgentMessage::BODY_NOT_SET:
      turn.effects.end_sessions.push_back(
          {event.session, absl::InvalidArgumentError(absl::StrCat(
                              "node ", id.value(), ": a session has one registration, and no empty message"))});
      OnDisconnected(turn, {event.session, "it broke the protocol"});
      return;
  }
}

void OnDisconnected(Turn& turn, const AgentDisconnected& event) {
  auto session = turn.state.sessions.find(event.session);
  if (session == turn.state.sessions.end()) return;
  const NodeId id = session->second;
  turn.state.sessions.erase(session);
  Node& node = turn.state.nodes.at(id);
  node.session.reset();
  node.disconnected_at = turn.now;
  node.disconnect_reason = event.why;
  turn.replan = true;
  OnNodeUnreachable(turn, id);
}

}  // namespace muster::coordinator
