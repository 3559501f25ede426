#include "tests/sim/sim_coordinator.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "coordinator/core/records.h"
#include "tests/sim/sim_agent.h"

namespace muster::sim {

using coordinator::Core;
using coordinator::Effects;

namespace {

bool IsDecision(const Effects& effects) {
  return std::any_of(effects.puts.begin(), effects.puts.end(), [](const Effects::Put& put) {
    return absl::StartsWith(put.key, "gen/") || absl::StartsWith(put.key, "ckpt/");
  });
}

}  // namespace

void SimCoordinator::Start() {
  ++life_;
  Effects effects;
  absl::StatusOr<std::unique_ptr<Core>> core = Core::Load({}, records_, world_->loop.now(), "sim", &effects);
  if (!core.ok()) {
    world_->Fail(absl::StrCat("the coordinator cannot load its records: ", core.status().ToString()));
    return;
  }
  core_ = *std::move(core);
  world_->Log("coordinator starts");
  pending_.push_back(std::move(effects));
  Commit();
  ArmTimer();
}

void SimCoordinator::Crash(bool commit_first) {
  world_->Log(commit_first ? "coordinator crashes after a commit" : "coordinator crashes");
  if (commit_first) {
    for (const Effects& effects : pending_) {
      invariants_.BeforeCommit(records_, effects);
      for (const Effects::Put& put : effects.puts) records_[put.key] = put.value;
      for (const std::string& key : effects.deletes) records_.erase(key);
    }
  }
  ++life_;
  core_.reset();
  paused_ = false;
  pending_.clear();
  inbox_.clear();
  requests_.clear();
  for (auto& [id, connection] : connections_) {
    connection.stream->coordinator_open = false;
    connection.agent->LearnOfClose(connection.stream, absl::UnavailableError("connection reset"));
  }
  connections_.clear();
}

void SimCoordinator::Pause() { paused_ = true; }

void SimCoordinator::Resume() {
  if (!paused_) return;
  paused_ = false;
  if (!up()) return;
  // The timer is overdue; whether it or what came in is looked at first is chance.
  if (world_->random.Chance(500) && core_->NextDeadline() <= world_->loop.now()) Step(coordinator::TimePassed{});
  std::deque<coordinator::Event> inbox;
  inbox.swap(inbox_);
  for (const coordinator::Event& event : inbox) Step(event);
  ArmTimer();
}

void SimCoordinator::Connect(std::shared_ptr<Stream> stream, SimAgent* agent, v1::Register registration) {
  const SessionId id = stream->id;
  connections_[id] = {std::move(stream), agent};
  Take(coordinator::AgentConnected{id, std::move(registration)});
}

void SimCoordinator::Said(const std::shared_ptr<Stream>& stream, v1::AgentMessage message) {
  if (!stream->coordinator_open) return;
  Take(coordinator::AgentSaid{stream->id, std::move(message)});
}

void SimCoordinator::Closed(const std::shared_ptr<Stream>& stream, const std::string& why) {
  if (!stream->coordinator_open) return;
  stream->coordinator_open = false;
  connections_.erase(stream->id);
  Take(coordinator::AgentDisconnected{stream->id, why});
}

void SimCoordinator::Submit(v1::SubmitJobRequest submit, Reply reply) {
  const RequestId id(++last_request_);
  requests_[id] = std::move(reply);
  Take(coordinator::ClientSubmitted{id, std::move(submit)});
}

void SimCoordinator::Cancel(const std::string& job, Reply reply) {
  const RequestId id(++last_request_);
  requests_[id] = std::move(reply);
  Take(coordinator::ClientCancelled{id, job});
}

void SimCoordinator::Take(coordinator::Event event) {
  if (!up()) return;
  if (paused_) {
    inbox_.push_back(std::move(event));
    return;
  }
  Step(event);
}

void SimCoordinator::Step(const coordinator::Event& event) {
  pending_.push_back(core_->Step(event, world_->loop.now()));
  invariants_.CheckGangs(core_->state());
  if (at_decision_ && IsDecision(pending_.back()))
    world_->loop.After(absl::ZeroDuration(), std::exchange(at_decision_, {}));
  if (pending_.size() == 1) {
    // A commit takes its time, and takes along what is stepped meanwhile.
    world_->loop.After(world_->random.Between(absl::ZeroDuration(), absl::Milliseconds(4)), [this, life = life_] {
      if (life == life_) Commit();
    });
  }
  ArmTimer();
}

void SimCoordinator::LogEvents(const Effects& effects) {
  for (const Effects::Put& put : effects.puts) {
    if (!absl::StartsWith(put.key, "event/")) continue;
    v1::StoredEvent event;
    event.ParseFromString(put.value);
    world_->Log(absl::StrCat(event.job_id(), "/", event.generation(), " ", event.type(), ": ", event.message()));
  }
}

void SimCoordinator::Commit() {
  std::vector<Effects> group;
  group.swap(pending_);
  for (const Effects& effects : group) {
    invariants_.BeforeCommit(records_, effects);
    LogEvents(effects);
    for (const Effects::Put& put : effects.puts) records_[put.key] = put.value;
    for (const std::string& key : effects.deletes) records_.erase(key);
  }
  invariants_.CheckAcknowledged(records_);
  for (const Effects& effects : group) Apply(effects);
}

void SimCoordinator::Apply(const Effects& effects) {
  for (const Effects::Send& send : effects.sends) {
    invariants_.BeforeSend(records_, send.message);
    auto it = connections_.find(send.session);
    if (it == connections_.end()) continue;
    Connection& connection = it->second;
    connection.stream->down->Push([stream = connection.stream, agent = connection.agent, message = send.message] {
      agent->Receive(stream, message);
    });
  }
  for (const Effects::EndSession& end : effects.end_sessions) {
    auto it = connections_.find(end.session);
    if (it == connections_.end()) continue;
    Connection connection = it->second;
    connections_.erase(it);
    connection.stream->coordinator_open = false;
    connection.stream->down->Push(
        [connection, status = end.status] { connection.agent->Ended(connection.stream, status); });
  }
  for (const Effects::Reply& reply : effects.replies) {
    auto it = requests_.find(reply.request);
    if (it == requests_.end()) continue;
    if (reply.result.ok()) invariants_.Acknowledged(*reply.result);
    it->second(reply.result);
    requests_.erase(it);
  }
}

void SimCoordinator::ArmTimer() {
  const absl::Time deadline = core_->NextDeadline();
  const uint64_t timer = ++timer_;
  if (deadline == absl::InfiniteFuture()) return;
  const absl::Duration wait = std::max(deadline - world_->loop.now(), absl::ZeroDuration());
  world_->loop.After(wait, [this, timer, life = life_] {
    if (life != life_ || timer != timer_ || !up() || paused_) return;
    Step(coordinator::TimePassed{});
    if (core_->NextDeadline() <= world_->loop.now()) world_->Fail("the core wants to be woken at once, for ever");
  });
}

void SimCoordinator::CheckReload() {
  if (!up() || !pending_.empty()) return;
  coordinator::State loaded;
  absl::Status status = coordinator::ReadRecords(records_, &loaded);
  if (!status.ok()) {
    world_->Fail(absl::StrCat("the records cannot be read: ", status.ToString()));
    return;
  }
  invariants_.CheckSame(core_->state(), loaded);
}

}  // namespace muster::sim
