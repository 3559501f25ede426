#ifndef MUSTER_AGENT_RUNTIME_LINKS_H_
#define MUSTER_AGENT_RUNTIME_LINKS_H_

#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "agent/core/types.h"
#include "proto/agent.pb.h"
#include "proto/worker.pb.h"

namespace muster::agent {

// What the agent's loop needs of the outside, so that it knows no RPC library. All are thread-safe.

// The session with the coordinator. Its implementation reconnects by itself and reports SessionOpened,
// CoordinatorSaid, SessionLost and CoordinatorRefused.
class SessionLink {
 public:
  virtual ~SessionLink() = default;
  // In order. Dropped when no session is open, and before the session's Register.
  virtual void Send(v1::AgentMessage message) = 0;
  // Ends the present session, if any; a new one follows.
  virtual void Reset(const std::string& why) = 0;
};

using WorkerReply = std::variant<v1::HelloReply, v1::JoinReply, v1::ReportReply>;

class WorkerCalls {
 public:
  virtual ~WorkerCalls() = default;
  // A call that has ended meanwhile is skipped.
  virtual void Answer(CallId call, absl::StatusOr<WorkerReply> reply) = 0;
};

// Sends log files to the coordinator, each once and whole, over any number of reconnects.
class LogSink {
 public:
  virtual ~LogSink() = default;
  // From now on; the file may grow, and need not be there yet.
  virtual void Add(const WorkerKey& worker, const std::string& path) = 0;
  // The file is whole. When the coordinator has all of it, the sink says so (see its options) and drops it.
  virtual void Finish(const WorkerKey& worker) = 0;
  virtual void Remove(const WorkerKey& worker) = 0;
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_RUNTIME_LINKS_H_
