#ifndef MUSTER_AGENT_CORE_ACTIONS_H_
#define MUSTER_AGENT_CORE_ACTIONS_H_

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/core/types.h"
#include "common/severity.h"
#include "proto/agent.pb.h"
#include "proto/worker.pb.h"

namespace muster::agent {

// What the shell does for the core, in the given order.

// On the open session.
struct Send {
  v1::AgentMessage message;
};

// Look whether the gang can start here and hold a port for it; answer with GangReady.
struct PrepareGang {
  GangKey gang;
  bool needs_worker_program = false;
};

// Let go of the gang's port, if one is held.
struct ReleasePort {
  GangKey gang;
};

struct LaunchPlan {
  // argv of a command; empty for the native trainer.
  std::vector<std::string> command;
  // Empty: the worker's own scratch folder.
  std::string working_dir;
  // Replaces what the agent's own environment has.
  std::map<std::string, std::string> env;
  // Only where the agent's own environment has no such name.
  std::map<std::string, std::string> default_env;
};

// Answered with WorkerStarted, or with WorkerExited (start_error) and WorkerGone.
struct StartWorker {
  WorkerKey worker;
  v1::WorkerStatus status;
  LaunchPlan plan;
};

enum class SignalTarget { kLead, kGroup, kTree };

struct SignalWorker {
  WorkerKey worker;
  int signal = 0;
  SignalTarget target = SignalTarget::kLead;
  // The coordinator wants it gone (ExitInfo.by_agent).
  bool wanted = false;
};

// What must be known of the worker after a restart of the agent.
struct SaveWorker {
  WorkerKey worker;
  v1::WorkerStatus status;
  std::optional<v1::WorkerFailure> failure;
};

// The worker is gone and nobody asks for it any more: its folder goes once its log was shipped.
struct ForgetWorker {
  WorkerKey worker;
};

struct Reply {
  CallId call;
  absl::StatusOr<std::variant<v1::HelloReply, v1::JoinReply, v1::ReportReply>> result;
};

// Workers that run or are about to, for the fair share of this machine's cores.
struct PlanWorkers {
  int count = 0;
};

// The session is open but silent: close it and connect anew.
struct ResetSession {
  std::string why;
};

struct Log {
  Severity severity = Severity::kInfo;
  std::string text;
};

// After LeaveAsked: no worker is left. Say goodbye and end.
struct Left {};

using Action = std::variant<Send, PrepareGang, ReleasePort, StartWorker, SignalWorker, SaveWorker, ForgetWorker, Reply,
                            PlanWorkers, ResetSession, Log, Left>;

}  // namespace muster::agent

#endif  // MUSTER_AGENT_CORE_ACTIONS_H_
