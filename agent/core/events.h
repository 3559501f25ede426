#ifndef MUSTER_AGENT_CORE_EVENTS_H_
#define MUSTER_AGENT_CORE_EVENTS_H_

#include <optional>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/core/types.h"
#include "proto/agent.pb.h"
#include "proto/worker.pb.h"

namespace muster::agent {

// What happens to an agent. The shell makes these; the core sees nothing else.

// A stream to the coordinator is there; nothing was said on it.
struct SessionOpened {};

struct SessionLost {
  std::string why;
};

// The coordinator's host actively refused a connection: the host is up and its coordinator is not.
struct CoordinatorRefused {};

struct CoordinatorSaid {
  v1::CoordinatorMessage message;
};

// A worker of an earlier agent process, found at the start. Comes before everything else; if it has ended meanwhile,
// WorkerExited and WorkerGone follow.
struct WorkerFound {
  v1::WorkerStatus status;
  std::optional<v1::WorkerFailure> failure;
};

// PrepareGang is done: the port that is held for it, or why it cannot start here.
struct GangReady {
  GangKey gang;
  absl::StatusOr<int> port;
};

struct WorkerStarted {
  WorkerKey worker;
  int pid = 0;
  absl::Time at;
};

// The worker process has ended, or could not be started.
struct WorkerExited {
  WorkerKey worker;
  v1::ExitInfo exit;
};

// After WorkerExited: no process that came from it is left, and its log is whole.
struct WorkerGone {
  WorkerKey worker;
};

// Calls of workers. Each is answered once, by a Reply, unless CallEnded comes first.
struct HelloCalled {
  CallId call;
  v1::HelloRequest request;
};
struct JoinCalled {
  CallId call;
  v1::JoinRequest request;
};
struct ReportCalled {
  CallId call;
  v1::ReportRequest request;
};
// The caller went away.
struct CallEnded {
  CallId call;
};

// The node is to leave: workers are stopped, then Left. Again: at once.
struct LeaveAsked {};

// NextDeadline() has come.
struct TimePassed {};

using Event =
    std::variant<SessionOpened, SessionLost, CoordinatorRefused, CoordinatorSaid, WorkerFound, GangReady, WorkerStarted,
                 WorkerExited, WorkerGone, HelloCalled, JoinCalled, ReportCalled, CallEnded, LeaveAsked, TimePassed>;

}  // namespace muster::agent

#endif  // MUSTER_AGENT_CORE_EVENTS_H_
