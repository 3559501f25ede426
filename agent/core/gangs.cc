// Core: gangs, from the coordinator's wish to their workers.

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "agent/core/core.h"
#include "agent/core/launch_plan.h"
#include "common/proto_time.h"

namespace muster::agent {

const v1::LocalWorker* Core::Gang::FindRank(int rank) const {
  for (const v1::LocalWorker& worker : assignment.workers()) {
    if (worker.rank() == rank) return &worker;
  }
  return nullptr;
}

void Core::OnDesired(const v1::DesiredState& desired) {
  if (desired.revision() < revision_) return;
  revision_ = desired.revision();
  desired_known_ = true;
  std::map<JobId, const v1::GangAssignment*> wanted;
  for (const v1::GangAssignment& gang : desired.gangs()) {
    const v1::GangAssignment*& newest = wanted[JobId(gang.job_id())];
    if (newest == nullptr || newest->generation() < gang.generation()) newest = &gang;
  }
  for (auto it = gangs_.begin(); it != gangs_.end();) {
    const auto want = wanted.find(it->first);
    if (want != wanted.end() && want->second->generation() == it->second.assignment.generation()) {
      ++it;
      continue;
    }
    DropGang(it->second, want == wanted.end()
                             ? "the coordinator has ended it on this node"
                             : absl::StrCat("generation ", want->second->generation(), " has taken its place"));
    it = gangs_.erase(it);
  }
  for (const auto& [job, assignment] : wanted) {
    Gang& gang = gangs_[job];
    gang.assignment = *assignment;
    for (const v1::LocalWorker& local : assignment->workers()) {
      const auto worker = workers_.find({gang.key(), local.rank()});
      if (worker == workers_.end()) continue;
      v1::WorkerStatus& status = worker->second.status;
      if (status.has_shard() && status.shard().step() <= assignment->committed_step()) status.clear_shard();
    }
  }
  AnswerParked();
}

void Core::DropGang(Gang& gang, const std::string& why) {
  Say(Severity::kInfo, absl::StrCat(gang.key().ToString(), ": over here, ", why));
  for (const auto& [call, join] : gang.joins) {
    Do(Reply{call, absl::FailedPreconditionError(absl::StrCat(gang.key().ToString(), " is over: ", why))});
  }
  if (gang.port_held) Do(ReleasePort{gang.key()});
}

void Core::On(const GangReady& event) {
  const auto it = gangs_.find(event.gang.job);
  if (it == gangs_.end() || !(it->second.key() == event.gang) || it->second.preparation != Preparation::kAsked) {
    if (event.port.ok()) Do(ReleasePort{event.gang});
    return;
  }
  it->second.port_held = event.port.ok();
  TellPrepared(it->second, event.port.ok() ? *event.port : 0,
               event.port.ok() ? "" : std::string(event.port.status().message()));
}

void Core::TellPrepared(Gang& gang, int port, const std::string& error) {
  gang.preparation = Preparation::kDone;
  gang.prepared.set_job_id(gang.assignment.job_id());
  gang.prepared.set_generation(gang.assignment.generation());
  gang.prepared.set_master_port(port);
  gang.prepared.set_error(error);
  if (!error.empty()) Say(Severity::kWarning, absl::StrCat(gang.key().ToString(), ": cannot start here: ", error));
  v1::AgentMessage message;
  *message.mutable_prepared() = gang.prepared;
  Tell(std::move(message));
}

const v1::Slot* Core::FindSlot(int index) const {
  for (const v1::Slot& slot : options_.slots) {
    if (slot.index() == index) return &slot;
  }
  return nullptr;
}

std::vector<const Core::Worker*> Core::Blockers(const Gang& gang) const {
  std::set<int> slots;
  for (const v1::LocalWorker& worker : gang.assignment.workers()) slots.insert(worker.slot());
  std::vector<const Worker*> blockers;
  for (const auto& [key, worker] : workers_) {
    if (worker.gone || key.gang == gang.key()) continue;
    if (key.gang.job == gang.key().job || slots.count(worker.status.slot()) > 0) blockers.push_back(&worker);
  }
  return blockers;
}

void Core::AdvanceGang(Gang& gang) {
  switch (gang.assignment.phase()) {
    case v1::PREPARE:
      return AdvancePrepare(gang);
    case v1::LAUNCH:
      return AdvanceLaunch(gang);
    case v1::STOP:
      return AdvanceStop(gang);
    default:
      return;
  }
}

void Core::AdvancePrepare(Gang& gang) {
  if (gang.preparation != Preparation::kNone) return;
  if (leaving_) return TellPrepared(gang, 0, "the agent was told to stop and takes no more work");
  for (const v1::LocalWorker& worker : gang.assignment.workers()) {
    if (FindSlot(worker.slot()) != nullptr) continue;
    return TellPrepared(
        gang, 0, absl::StrCat("slot ", worker.slot(), " is not there; the node has ", options_.slots.size(), " slots"));
  }
  for (const Worker* worker : Blockers(gang)) {
    if (now_ - worker->killed_at < options_.kill_limit) return;
    return TellPrepared(gang, 0,
                        absl::StrCat("slot ", worker->status.slot(), ": rank ", worker->status.rank(), " of ",
                                     worker->status.job_id(), " generation ", worker->status.generation(), " (pid ",
                                     worker->status.pid(), ") lives on ", absl::FormatDuration(options_.kill_limit),
                                     " after SIGKILL; it is stuck in the kernel, look at /proc/", worker->status.pid(),
                                     "/stack or restart the machine"));
  }
  if (!Blockers(gang).empty()) return;
  gang.preparation = Preparation::kAsked;
  Do(PrepareGang{gang.key(), gang.assignment.spec().has_train()});
}

void Core::AdvanceLaunch(Gang& gang) {
  if (leaving_ || lease_over_ || !Blockers(gang).empty()) return;
  if (gang.port_held) {
    gang.port_held = false;
    Do(ReleasePort{gang.key()});
  }
  for (const v1::LocalWorker& local : gang.assignment.workers()) {
    const WorkerKey key{gang.key(), local.rank()};
    if (workers_.count(key) > 0) continue;
    const v1::Slot* slot = FindSlot(local.slot());
    if (slot == nullptr) continue;  // its PREPARE was answered so
    v1::WorkerStatus& status = workers_[key].status;
    status.set_job_id(gang.assignment.job_id());
    status.set_generation(gang.assignment.generation());
    status.set_rank(local.rank());
    status.set_local_rank(local.local_rank());
    status.set_slot(local.slot());
    status.set_state(v1::STARTING);
    Do(StartWorker{key, status, PlanLaunch(gang.assignment, local, *slot, options_.node_id, options_.socket_path)});
  }
}

void Core::AdvanceStop(Gang& gang) {
  if (gang.port_held) {
    gang.port_held = false;
    Do(ReleasePort{gang.key()});
  }
  for (const v1::LocalWorker& local : gang.assignment.workers()) {
    const WorkerKey key{gang.key(), local.rank()};
    auto it = workers_.find(key);
    if (it != workers_.end()) {
      if (!it->second.exited()) Stop(key, it->second, GraceOf(key));
      continue;
    }
    // Whoever waits for all of the gang to end must hear of this one too.
    Worker& worker = workers_[key];
    worker.gone = true;
    worker.status.set_job_id(gang.assignment.job_id());
    worker.status.set_generation(gang.assignment.generation());
    worker.status.set_rank(local.rank());
    worker.status.set_local_rank(local.local_rank());
    worker.status.set_slot(local.slot());
    worker.status.set_state(v1::EXITED);
    *worker.status.mutable_exit()->mutable_at() = ToProto(now_);
    worker.status.mutable_exit()->set_by_agent(true);
    worker.status.mutable_exit()->set_start_error("stopped before it was started");
    TellWorker(worker);
  }
}

void Core::PlanCount() {
  std::set<WorkerKey> planned;
  for (const auto& [key, worker] : workers_) {
    if (!worker.exited()) planned.insert(key);
  }
  for (const auto& [job, gang] : gangs_) {
    if (gang.assignment.phase() != v1::PREPARE && gang.assignment.phase() != v1::LAUNCH) continue;
    for (const v1::LocalWorker& local : gang.assignment.workers()) {
      const WorkerKey key{gang.key(), local.rank()};
      if (workers_.count(key) == 0) planned.insert(key);
    }
  }
  const int count = static_cast<int>(planned.size());
  if (count == planned_) return;
  planned_ = count;
  Do(PlanWorkers{count});
}

}  // namespace muster::agent
