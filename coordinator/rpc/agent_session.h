#ifndef MUSTER_COORDINATOR_RPC_AGENT_SESSION_H_
#define MUSTER_COORDINATOR_RPC_AGENT_SESSION_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "common/ids.h"
#include "coordinator/rpc/open_streams.h"
#include "coordinator/runtime/driver.h"
#include "proto/agent.grpc.pb.h"

namespace muster::coordinator {

class AgentSession;

// The sessions there are, by id. Thread-safe.
class AgentSessions {
 public:
  // Not while a session may still remove itself; one that just has is waited for.
  ~AgentSessions() { std::lock_guard<std::mutex> lock(mu_); }

  // A session that was never there before.
  SessionId NewId();
  void Add(SessionId id, const std::shared_ptr<AgentSession>& session);
  void Remove(SessionId id);
  // Null: it is gone.
  std::shared_ptr<AgentSession> Find(SessionId id) const;

 private:
  mutable std::mutex mu_;
  uint64_t next_ = 1;                                          // guarded by mu_
  std::map<SessionId, std::weak_ptr<AgentSession>> sessions_;  // guarded by mu_
};

// The stream of one agent. What it says becomes events, a bounded number at a time, so that an agent that says too much
// waits for itself alone. What it is told is queued, bounded too: an agent that does not read is disconnected.
class AgentSession final : public grpc::ServerBidiReactor<v1::AgentMessage, v1::CoordinatorMessage>,
                           public OpenStream,
                           public std::enable_shared_from_this<AgentSession> {
 public:
  AgentSession(SessionId id, grpc::CallbackServerContext* context, Driver* driver, AgentSessions* sessions,
               OpenStreams* open);

  // Starts to read. gRPC keeps the object until the call is over.
  void Open();

  void Send(v1::CoordinatorMessage message);
  void End(const absl::Status& status) override;

 private:
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

  // The core has seen one message.
  void OnTaken();
  void Disconnected(const std::string& why);
  // With mu_ held.
  void EndLocked(const absl::Status& status);
  void WriteNextLocked();

  const SessionId id_;
  grpc::CallbackServerContext* const context_;
  Driver* const driver_;
  AgentSessions* const sessions_;
  OpenStreams* const open_;

  v1::AgentMessage incoming_;  // of the read under way

  std::mutex mu_;
  // Guarded by mu_.
  bool registered_ = false;
  bool disconnected_ = false;
  // Messages that the core has not seen yet; at the limit reading stops.
  int waiting_ = 0;
  bool read_paused_ = false;
  std::deque<v1::CoordinatorMessage> outgoing_;  // the first is being written, if writing_
  size_t outgoing_bytes_ = 0;
  bool writing_ = false;
  std::optional<absl::Status> end_;
  std::shared_ptr<AgentSession> self_;
};

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_RPC_AGENT_SESSION_H_
