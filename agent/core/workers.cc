// Core: workers, from their start to their end.

#include <algorithm>
#include <csignal>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/core/core.h"
#include "common/proto_time.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kDefaultGrace = absl::Seconds(10);

bool TellsOfTakenPort(const v1::ExitInfo& exit) {
  return std::any_of(exit.last_lines().begin(), exit.last_lines().end(), [](const std::string& line) {
    return absl::StrContains(absl::AsciiStrToLower(line), "address already in use") ||
           absl::StrContains(line, "EADDRINUSE");
  });
}

}  // namespace

const Core::Gang* Core::GangOf(const WorkerKey& key) const {
  const auto it = gangs_.find(key.gang.job);
  if (it == gangs_.end() || !(it->second.key() == key.gang)) return nullptr;
  return it->second.FindRank(key.rank) == nullptr ? nullptr : &it->second;
}

absl::Duration Core::GraceOf(const WorkerKey& key) const {
  const Gang* gang = GangOf(key);
  return gang != nullptr && gang->assignment.spec().has_grace() ? FromProto(gang->assignment.spec().grace())
                                                                : kDefaultGrace;
}

void Core::On(const WorkerFound& event) {
  const v1::WorkerStatus& status = event.status;
  const WorkerKey key{{JobId(status.job_id()), Generation(status.generation())}, status.rank()};
  Worker& worker = workers_[key];
  worker.status = status;
  worker.failure = event.failure;
  worker.joined = status.state() == v1::RUNNING;
}

void Core::On(const WorkerStarted& event) {
  const auto it = workers_.find(event.worker);
  if (it == workers_.end() || it->second.exited()) return;
  Worker& worker = it->second;
  worker.status.set_pid(event.pid);
  *worker.status.mutable_started_at() = ToProto(event.at);
  const Gang* gang = GangOf(event.worker);
  // A command has no barrier.
  if (gang != nullptr && !gang->assignment.spec().has_train()) worker.status.set_state(v1::RUNNING);
  Save(event.worker, worker);
  TellWorker(worker);
}

void Core::On(const WorkerExited& event) {
  const auto it = workers_.find(event.worker);
  if (it == workers_.end() || it->second.exited()) return;
  Worker& worker = it->second;
  worker.status.set_state(v1::EXITED);
  v1::ExitInfo& exit = *worker.status.mutable_exit();
  exit = event.exit;
  if (!worker.own_reason.empty()) exit.add_last_lines(absl::StrCat("muster-agent: ", worker.own_reason));
  const Gang* gang = GangOf(event.worker);
  const bool failed = exit.code() != 0 || exit.signal() != 0;
  if (failed && event.worker.rank == 0 && gang != nullptr && !gang->assignment.spec().has_train()) {
    exit.set_port_conflict(TellsOfTakenPort(exit));
  }
  Say(Severity::kInfo,
      absl::StrCat(event.worker.ToString(), ": ",
                   !exit.start_error().empty() ? absl::StrCat("could not be started: ", exit.start_error())
                   : exit.signal() != 0        ? absl::StrCat("killed by signal ", exit.signal())
                                               : absl::StrCat("exited with code ", exit.code()),
                   exit.oom_killed() ? ", out of memory" : "", exit.by_agent() ? ", as asked" : ""));
  TellWorker(worker);
}

void Core::On(const WorkerGone& event) {
  const auto it = workers_.find(event.worker);
  if (it != workers_.end()) it->second.gone = true;
}

// What the coordinator does not want here is killed, and once nothing is left of it, forgotten.
void Core::FenceWorkers() {
  for (auto it = workers_.begin(); it != workers_.end();) {
    auto& [key, worker] = *it;
    if (GangOf(key) != nullptr) {
      ++it;
      continue;
    }
    if (worker.gone) {
      Do(ForgetWorker{key});
      it = workers_.erase(it);
      continue;
    }
    if (worker.killed_at == absl::InfiniteFuture()) {
      if (!worker.exited()) Say(Severity::kInfo, absl::StrCat(key.ToString(), ": not wanted here any more; killed"));
      Kill(key, worker, /*wanted=*/true);
    }
    ++it;
  }
}

void Core::Kill(const WorkerKey& key, Worker& worker, bool wanted) {
  worker.killed_at = std::min(worker.killed_at, now_);
  Do(SignalWorker{key, SIGKILL, SignalTarget::kTree, wanted});
}

absl::Time Core::NextStop(const Worker& worker, absl::Duration grace) const {
  return worker.stop_began + (worker.stop == StopStage::kTerm ? grace / 2 : grace);
}

// The lead process first: it may need its helpers to save what it has.
void Core::Stop(const WorkerKey& key, Worker& worker, absl::Duration grace) {
  if (worker.killed_at != absl::InfiniteFuture()) return;
  if (worker.stop == StopStage::kNone) {
    worker.stop = StopStage::kTerm;
    worker.stop_began = now_;
    Do(SignalWorker{key, SIGTERM, SignalTarget::kLead, /*wanted=*/true});
  }
  if (worker.stop == StopStage::kTerm && now_ >= NextStop(worker, grace)) {
    worker.stop = StopStage::kTermGroup;
    Do(SignalWorker{key, SIGTERM, SignalTarget::kGroup, /*wanted=*/true});
  }
  if (worker.stop == StopStage::kTermGroup && now_ >= NextStop(worker, grace)) {
    Say(Severity::kWarning,
        absl::StrCat(key.ToString(), ": lives on ", absl::FormatDuration(grace), " after SIGTERM; killed"));
    Kill(key, worker, /*wanted=*/true);
  }
}

void Core::Save(const WorkerKey& key, const Worker& worker) { Do(SaveWorker{key, worker.status, worker.failure}); }

}  // namespace muster::agent
