#ifndef MUSTER_COORDINATOR_CORE_EVENTS_H_
#define MUSTER_COORDINATOR_CORE_EVENTS_H_

#include <set>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "proto/agent.pb.h"
#include "proto/ctl.pb.h"

namespace muster::coordinator {

// What happens to the coordinator. The shell makes these; the core sees nothing else.

struct ClientSubmitted {
  RequestId request;
  v1::SubmitJobRequest submit;
};

struct ClientCancelled {
  RequestId request;
  std::string job;  // id or name
};

// The first message of a session. Session ids are never used twice in one process.
struct AgentConnected {
  SessionId session;
  v1::Register registration;
};

struct AgentSaid {
  SessionId session;
  v1::AgentMessage message;
};

struct AgentDisconnected {
  SessionId session;
  std::string why;
};

// NextDeadline() has come.
struct TimePassed {};

using Event = std::variant<ClientSubmitted, ClientCancelled, AgentConnected, AgentSaid, AgentDisconnected, TimePassed>;

// What the coordinator does about it, in this order: first all of `puts` and `deletes`, in one transaction; only once
// that is durable the rest, in any order between kinds, in the given order within one.
struct Effects {
  struct Put {
    std::string key;
    std::string value;
  };
  struct Send {
    SessionId session;
    v1::CoordinatorMessage message;
  };
  struct EndSession {
    SessionId session;
    absl::Status status;
  };
  struct Reply {
    RequestId request;
    absl::StatusOr<v1::JobView> result;
  };

  std::vector<Put> puts;
  std::vector<std::string> deletes;

  std::vector<Send> sends;
  std::vector<EndSession> end_sessions;
  std::vector<Reply> replies;
  // Jobs whose view changed: their watchers want to know.
  std::set<JobId> changed;
};

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_CORE_EVENTS_H_
