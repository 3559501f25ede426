// Core: what is said to the coordinator, and what it says.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/core/core.h"
#include "common/proto_time.h"
#include "common/version.h"

namespace muster::agent {
namespace {

// Keeps messages far below gRPC's limit.
constexpr int kMaxSteps = 512;

}  // namespace

void Core::On(const SessionOpened&) {
  session_open_ = true;
  welcomed_ = false;
  revision_ = 0;
  registered_at_ = now_;
  v1::AgentMessage message;
  *message.mutable_register_() = Registration();
  Do(agent::Send{std::move(message)});
}

void Core::On(const SessionLost& event) {
  session_open_ = false;
  welcomed_ = false;
  heartbeats_.clear();
}

void Core::On(const CoordinatorRefused&) { refused_at_ = now_; }

void Core::On(const CoordinatorSaid& event) {
  const v1::CoordinatorMessage& m = event.message;
  switch (m.body_case()) {
    case v1::CoordinatorMessage::kWelcome:
      return OnWelcome(m.welcome());
    case v1::CoordinatorMessage::kHeartbeatAck:
      return OnHeartbeatAck(m.heartbeat_ack().seq());
    case v1::CoordinatorMessage::kDesired:
      return OnDesired(m.desired());
    case v1::CoordinatorMessage::kJoined:
      return OnJoined(m.joined());
    case v1::CoordinatorMessage::kProgressAck:
      return OnProgressAck(m.progress_ack());
    case v1::CoordinatorMessage::BODY_NOT_SET:
      return;  // of a newer protocol: not for us
  }
}

void Core::OnWelcome(const v1::Welcome& welcome) {
  welcomed_ = true;
  if (welcome.has_lease()) lease_ = FromProto(welcome.lease());
  if (welcome.has_heartbeat_interval()) heartbeat_interval_ = FromProto(welcome.heartbeat_interval());
  // Whatever the coordinator says, two heartbeats fit in a lease, and none comes in a busy loop.
  heartbeat_interval_ = std::max(absl::Milliseconds(10), std::min(heartbeat_interval_, lease_ / 3));
  known_at_ = std::max(known_at_, registered_at_);
  next_heartbeat_ = now_;
  // What happened since the registration was written, and what it has no room for. Exits last: what a worker had to
  // say comes before its end.
  for (auto& [job, gang] : gangs_) {
    TellProgress(gang);
    if (gang.published) {
      v1::AgentMessage message;
      *message.mutable_published() = *gang.published;
      Tell(std::move(message));
    }
    if (gang.preparation == Preparation::kDone) {
      v1::AgentMessage message;
      *message.mutable_prepared() = gang.prepared;
      Tell(std::move(message));
    }
  }
  for (const auto& [key, worker] : workers_) {
    if (worker.failure) TellFailure(*worker.failure);
  }
  for (const auto& [key, worker] : workers_) TellWorker(worker);
}

void Core::OnHeartbeatAck(uint64_t seq) {
  const auto sent = heartbeats_.find(seq);
  if (sent == heartbeats_.end()) return;
  known_at_ = std::max(known_at_, sent->second);
  heartbeats_.erase(heartbeats_.begin(), std::next(sent));
}

void Core::OnJoined(const v1::GangJoined& joined) {
  const auto it = gangs_.find(JobId(joined.job_id()));
  if (it == gangs_.end() || it->second.assignment.generation() != joined.generation()) return;
  it->second.joined = joined;
  AnswerJoins(it->second);
}

void Core::OnProgressAck(const v1::ProgressAck& ack) {
  const auto it = gangs_.find(JobId(ack.job_id()));
  if (it == gangs_.end() || it->second.assignment.generation() != ack.generation()) return;
  auto& unacked = it->second.unacked;
  unacked.erase(unacked.begin(), unacked.upper_bound(ack.step()));
}

void Core::Tell(v1::AgentMessage message) {
  if (welcomed_) Do(agent::Send{std::move(message)});  // else it is said again once there is a session
}

void Core::TellWorker(const Worker& worker) {
  v1::AgentMessage message;
  *message.mutable_worker() = worker.status;
  Tell(std::move(message));
}

void Core::TellFailure(const v1::WorkerFailure& failure) {
  v1::AgentMessage message;
  *message.mutable_failure() = failure;
  Tell(std::move(message));
}

void Core::TellProgress(const Gang& gang) {
  v1::AgentMessage message;
  for (const auto& [number, step] : gang.unacked) {
    v1::Progress* progress = message.mutable_progress();
    progress->set_job_id(gang.assignment.job_id());
    progress->set_generation(gang.assignment.generation());
    *progress->add_steps() = step;
    if (progress->steps_size() == kMaxSteps) {
      Tell(std::move(message));
      message.Clear();
    }
  }
  if (message.has_progress()) Tell(std::move(message));
}

bool Core::HasMoreToSay(const Worker& worker) const {
  if (worker.failure) return true;
  const auto gang = gangs_.find(JobId(worker.status.job_id()));
  return worker.status.rank() == 0 && gang != gangs_.end() &&
         gang->second.assignment.generation() == worker.status.generation() && !gang->second.unacked.empty();
}

v1::Register Core::Registration() const {
  v1::Register registration;
  registration.set_protocol(kProtocolVersion);
  registration.set_version(kVersion);
  registration.set_node_id(options_.node_id);
  registration.set_agent_uid(options_.agent_uid);
  registration.set_incarnation(options_.incarnation);
  registration.set_address(options_.address);
  for (const v1::Slot& slot : options_.slots) *registration.add_slots() = slot;
  for (const auto& [key, worker] : workers_) {
    v1::WorkerStatus* status = registration.add_workers();
    *status = worker.status;
    // A registration has no room for failures and progress. They follow the Welcome, and the exit follows them: the
    // coordinator would else decide on an exit without its cause, or end a job without its last steps.
    if (worker.exited() && HasMoreToSay(worker)) {
      status->set_state(v1::RUNNING);
      status->clear_exit();
    }
  }
  for (const auto& [job, gang] : gangs_) {
    if (gang.preparation == Preparation::kDone && gang.prepared.error().empty()) {
      *registration.add_prepared() = gang.prepared;
    }
  }
  return registration;
}

}  // namespace muster::agent
