#include "agent/runtime/agent.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/file_system.h"
#include "common/log.h"

namespace muster::agent {

Agent::Agent(AgentOptions options, Clock* clock)
    : options_(std::move(options)),
      clock_(clock),
      core_(options_.core, clock->Now()),
      ports_(options_.first_port, options_.last_port, std::hash<std::string>()(options_.core.incarnation)),
      share_(options_.share_dir, options_.core.agent_uid) {
  retention_ = std::make_unique<Retention>(Retention::Limits{}, [this](const WorkerKey& worker) {
    if (logs_ != nullptr) logs_->Remove(worker);
  });
  ShimsOptions shims;
  shims.shim_program = options_.shim_program;
  shims.worker_program = options_.worker_program;
  shims.socket_path = options_.core.socket_path;
  shims.orphan_after = options_.orphan_after;
  shims.on_event = [this](Event event) { Post(std::move(event)); };
  shims.clock = clock;
  shims_ = std::make_unique<Shims>(std::move(shims));
}

Agent::~Agent() = default;

WorkerFolder Agent::Folder(const WorkerKey& worker) const { return WorkerFolder::Of(options_.workers_dir, worker); }

void Agent::Adopt(LogSink* logs) {
  logs_ = logs;
  const absl::StatusOr<std::vector<std::string>> names = FileSystem::Posix()->List(options_.workers_dir);
  if (!names.ok()) {
    LogWarning("workers of an earlier agent are not found again: %s", std::string(names.status().message()));
    return;
  }
  for (const std::string& name : *names) {
    WorkerFolder folder(absl::StrCat(options_.workers_dir, "/", name));
    const absl::StatusOr<v1::WorkerStatus> status = folder.LoadStatus();
    if (!status.ok()) {
      LogWarning("%s is removed: %s", folder.path(), std::string(status.status().message()));
      folder.Remove();
      continue;
    }
    const WorkerKey worker{{JobId(status->job_id()), Generation(status->generation())}, status->rank()};
    if (folder.Marked(WorkerFolder::kOver)) {
      if (!folder.Marked(WorkerFolder::kShipped)) {
        logs->Add(worker, folder.log());
        logs->Finish(worker);
      }
      retention_->Over(worker, folder);
      continue;
    }
    if (!shims_->Adopt(worker, folder)) {
      LogInfo("%s: the agent ended before it could start it", worker.ToString());
      folder.Remove();
      continue;
    }
    // What its shim says waits in the queue until Run.
    Step(WorkerFound{*status, folder.LoadFailure()});
    if (!folder.Marked(WorkerFolder::kShipped)) logs->Add(worker, folder.log());
    LogInfo("%s: found again", worker.ToString());
  }
}

absl::Status Agent::Run(SessionLink* session, WorkerCalls* calls, LogSink* logs) {
  session_ = session;
  calls_ = calls;
  logs_ = logs;
  while (true) {
    std::optional<Item> item = Next(core_.NextDeadline());
    if (!item) {
      Step(TimePassed{});
    } else if (const Event* event = std::get_if<Event>(&*item)) {
      Step(*event);
    } else {
      const WorkerKey& worker = std::get<Shipped>(*item).worker;
      retention_->Shipped(worker, Folder(worker));
    }
    std::lock_guard<std::mutex> lock(mu_);
    if (stopped_) return *stopped_;
  }
}

std::optional<Agent::Item> Agent::Next(absl::Time deadline) {
  std::unique_lock<std::mutex> lock(mu_);
  if (!clock_->WaitUntil(lock, cv_, deadline, [this] { return !items_.empty() || stopped_; })) return std::nullopt;
  if (items_.empty()) return std::nullopt;
  Item item = std::move(items_.front());
  items_.pop_front();
  return item;
}

void Agent::Step(const Event& event) {
  if (const auto* gone = std::get_if<WorkerGone>(&event)) logs_->Finish(gone->worker);
  for (Action& action : core_.Step(event, clock_->Now())) {
    std::visit([this](auto& a) { Do(a); }, action);
  }
}

void Agent::Post(Event event) {
  {
    std::lock_guard<std::mutex> lock(mu_);
    items_.emplace_back(std::move(event));
  }
  cv_.notify_one();
}

void Agent::LogShipped(const WorkerKey& worker) {
  {
    std::lock_guard<std::mutex> lock(mu_);
    items_.emplace_back(Shipped{worker});
  }
  cv_.notify_one();
}

void Agent::Stop(absl::Status status) {
  {
    std::lock_guard<std::mutex> lock(mu_);
    if (!stopped_) stopped_ = std::move(status);
  }
  cv_.notify_one();
}

void Agent::Do(Send& action) { session_->Send(std::move(action.message)); }

void Agent::Do(PrepareGang& action) {
  if (action.needs_worker_program && ::access(options_.worker_program.c_str(), X_OK) != 0) {
    Post(GangReady{action.gang, absl::NotFoundError(absl::StrCat("the trainer's program ", options_.worker_program,
                                                                 " cannot be run: ", std::strerror(errno),
                                                                 "; install it or name it with --worker"))});
    return;
  }
  Post(GangReady{action.gang, ports_.Lease(action.gang)});
}

void Agent::Do(ReleasePort& action) { ports_.Release(action.gang); }

void Agent::Do(StartWorker& action) {
  WorkerFolder folder = Folder(action.worker);
  if (const absl::Status status = folder.Create(action.status); !status.ok()) {
    v1::ExitInfo exit;
    exit.set_start_error(std::string(status.message()));
    Post(WorkerExited{action.worker, exit});
    Post(WorkerGone{action.worker});
    return;
  }
  logs_->Add(action.worker, folder.log());
  shims_->Start(action.worker, folder, action.plan);
}

void Agent::Do(SignalWorker& action) { shims_->Signal(action); }

void Agent::Do(SaveWorker& action) {
  if (const absl::Status status = Folder(action.worker).Save(action.status, action.failure); !status.ok()) {
    LogWarning("%s: a restarted agent will know less of it: %s", action.worker.ToString(),
               std::string(status.message()));
  }
}

void Agent::Do(ForgetWorker& action) {
  const WorkerFolder folder = Folder(action.worker);
  // One that was never started has none.
  if (FileSystem::Posix()->Exists(folder.path()).value_or(false)) retention_->Over(action.worker, folder);
}

void Agent::Do(Reply& action) {
  if (!action.result.ok()) return calls_->Answer(action.call, action.result.status());
  if (auto* hello = std::get_if<v1::HelloReply>(&*action.result)) {
    hello->set_workers_on_host(std::max(hello->workers_on_host(), share_.Total()));
  }
  calls_->Answer(action.call, *std::move(action.result));
}

void Agent::Do(PlanWorkers& action) { share_.Set(action.count); }

void Agent::Do(ResetSession& action) { session_->Reset(action.why); }

void Agent::Do(Log& action) { LogLine(action.severity, action.text); }

void Agent::Do(Left&) { Stop(absl::OkStatus()); }

}  // namespace muster::agent
