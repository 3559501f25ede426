// Core: calls of workers (proto/worker.proto).

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/core/core.h"
#include "common/version.h"

namespace muster::agent {

absl::Status Core::Find(const v1::WorkerRef& ref, Gang** gang, Worker** worker) {
  const WorkerKey key{{JobId(ref.job_id()), Generation(ref.generation())}, ref.rank()};
  const auto held = workers_.find(key);
  const auto it = gangs_.find(key.gang.job);
  if (it == gangs_.end() && !desired_known_) {
    return absl::UnavailableError("the agent has not heard from the coordinator yet; call again");
  }
  if (it != gangs_.end() && ref.generation() < it->second.assignment.generation()) {
    return absl::FailedPreconditionError(absl::StrCat(
        key.ToString(), " is of an old generation; this node runs generation ", it->second.assignment.generation()));
  }
  if (held == workers_.end()) {
    return absl::NotFoundError(absl::StrCat(key.ToString(), " is not a worker of this node"));
  }
  if (GangOf(key) == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(key.ToString(), " is over on this node"));
  }
  *gang = &it->second;
  *worker = &held->second;
  return absl::OkStatus();
}

void Core::On(const HelloCalled& event) {
  const v1::HelloRequest& request = event.request;
  if (request.protocol() != kProtocolVersion) {
    Do(Reply{event.call, absl::FailedPreconditionError(
                             absl::StrCat("the worker (version ", request.version(), ") speaks protocol ",
                                          request.protocol(), ", the agent (version ", kVersion, ") protocol ",
                                          kProtocolVersion, "; install the same release of both"))});
    return;
  }
  Gang* gang = nullptr;
  Worker* worker = nullptr;
  const absl::Status status = Find(request.worker(), &gang, &worker);
  if (absl::IsUnavailable(status)) {
    parked_.emplace(event.call, event);
    return;
  }
  if (!status.ok()) {
    Do(Reply{event.call, status});
    return;
  }
  const v1::GangAssignment& assignment = gang->assignment;
  v1::HelloReply reply;
  *reply.mutable_spec() = assignment.spec();
  reply.set_job_uid(assignment.job_uid());
  reply.set_world_size(assignment.world_size());
  reply.set_local_rank(worker->status.local_rank());
  reply.set_local_world_size(assignment.workers_size());
  reply.set_address(options_.address);
  if (assignment.has_restore()) *reply.mutable_restore() = assignment.restore();
  if (assignment.has_publish() && worker->status.rank() == 0) *reply.mutable_publish() = assignment.publish();
  // The shell knows of other agents on this machine and raises it.
  reply.set_workers_on_host(std::max(1, planned_));
  Do(Reply{event.call, std::move(reply)});
}

void Core::On(const JoinCalled& event) {
  Gang* gang = nullptr;
  Worker* worker = nullptr;
  const absl::Status status = Find(event.request.worker(), &gang, &worker);
  if (absl::IsUnavailable(status)) {
    parked_.emplace(event.call, event);
    return;
  }
  if (!status.ok()) {
    Do(Reply{event.call, status});
    return;
  }
  const bool news = worker->status.state() < v1::JOINING || worker->status.join_blob() != event.request.blob();
  if (!worker->exited() && news) {
    worker->status.set_state(v1::JOINING);
    worker->status.set_join_blob(event.request.blob());
    Save({gang->key(), worker->status.rank()}, *worker);
    TellWorker(*worker);
  }
  gang->joins[event.call] = {worker->status.rank(), now_ + options_.join_limit};
  AnswerJoins(*gang);
}

void Core::AnswerJoins(Gang& gang) {
  if (!gang.joined) return;
  for (const auto& [call, join] : gang.joins) {
    v1::JoinReply reply;
    *reply.mutable_blobs() = gang.joined->blobs();
    Do(Reply{call, std::move(reply)});
    const auto worker = workers_.find({gang.key(), join.rank});
    if (worker != workers_.end()) worker->second.joined = true;
  }
  gang.joins.clear();
}

void Core::ExpireJoins(Gang& gang) {
  for (auto it = gang.joins.begin(); it != gang.joins.end();) {
    if (now_ < it->second.deadline) {
      ++it;
      continue;
    }
    std::vector<int> missing;
    for (const v1::LocalWorker& local : gang.assignment.workers()) {
      const auto worker = workers_.find({gang.key(), local.rank()});
      if (worker == workers_.end() || worker->second.status.join_blob().empty()) missing.push_back(local.rank());
    }
    Do(Reply{it->first,
             absl::DeadlineExceededError(absl::StrCat(
                 gang.key().ToString(), " was not complete after ", absl::FormatDuration(options_.join_limit), "; ",
                 missing.empty() ? "all ranks of this node have joined, ranks of other nodes are missing"
                                 : absl::StrCat("missing on this node: rank ", absl::StrJoin(missing, ", "))))});
    it = gang.joins.erase(it);
  }
}

void Core::On(const ReportCalled& event) {
  const v1::ReportRequest& request = event.request;
  Gang* gang = nullptr;
  Worker* worker = nullptr;
  const absl::Status status = Find(request.worker(), &gang, &worker);
  if (!status.ok()) {
    Do(Reply{event.call, status});
    return;
  }
  const v1::GangAssignment& assignment = gang->assignment;
  const WorkerKey key{gang->key(), worker->status.rank()};
  bool tell = false, save = false;
  // A step proves that it is through the barrier. Without one, only an answered Join does: a report may also come from
  // a worker that is still at it.
  const bool stepped = !request.steps().empty() || request.step() > assignment.restore().step();
  if (worker->status.state() < v1::RUNNING && (worker->joined || stepped)) {
    worker->status.set_state(v1::RUNNING);
    tell = save = true;
  }
  if (!request.steps().empty()) {
    v1::AgentMessage message;
    message.mutable_progress()->set_job_id(assignment.job_id());
    message.mutable_progress()->set_generation(assignment.generation());
    for (const v1::StepMetrics& step : request.steps()) {
      gang->unacked[step.step()] = step;
      *message.mutable_progress()->add_steps() = step;
    }
    Tell(std::move(message));
  }
  if (request.has_shard() && request.shard().step() > assignment.committed_step() &&
      request.shard().step() != worker->status.shard().step()) {
    *worker->status.mutable_shard() = request.shard();
    tell = save = true;
  }
  if (request.has_published() &&
      (!gang->published || gang->published->SerializeAsString() != request.published().SerializeAsString())) {
    gang->published = request.published();
    v1::AgentMessage message;
    *message.mutable_published() = request.published();
    Tell(std::move(message));
  }
  if (request.has_failure() &&
      (!worker->failure || worker->failure->SerializeAsString() != request.failure().SerializeAsString())) {
    worker->failure = request.failure();
    save = true;
    TellFailure(request.failure());
  }
  if (tell) TellWorker(*worker);
  if (save) Save(key, *worker);

  v1::ReportReply reply;
  reply.set_committed_step(assignment.committed_step());
  reply.set_hold_at_checkpoint(assignment.hold_at_checkpoint());
  if (key.rank == 0) {
    if (assignment.has_publish()) *reply.mutable_publish() = assignment.publish();
    *reply.mutable_remove_steps() = assignment.remove_steps();
  }
  Do(Reply{event.call, std::move(reply)});
}

void Core::On(const CallEnded& event) {
  parked_.erase(event.call);
  for (auto& [job, gang] : gangs_) gang.joins.erase(event.call);
}

void Core::AnswerParked() {
  auto parked = std::move(parked_);
  parked_.clear();
  for (const auto& [id, call] : parked) {
    std::visit([this](const auto& c) { On(c); }, call);
  }
}

}  // namespace muster::agent
