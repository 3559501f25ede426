#ifndef MUSTER_AGENT_RPC_SESSION_CLIENT_H_
#define MUSTER_AGENT_RPC_SESSION_CLIENT_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "agent/core/events.h"
#include "agent/runtime/links.h"
#include "agent/runtime/network.h"
#include "common/clock.h"

namespace muster::agent {

struct SessionClientOptions {
  HostPort coordinator;
  absl::Duration first_pause = absl::Milliseconds(50);
  absl::Duration longest_pause = absl::Seconds(1);
  absl::Duration longest_refused_pause = absl::Milliseconds(250);
  absl::Duration connect_timeout = absl::Seconds(1);
  // Gets SessionOpened, CoordinatorSaid, SessionLost and CoordinatorRefused. Called from any thread.
  std::function<void(Event)> on_event;
  // The coordinator refuses this agent for good (proto/agent.proto); no more events. One line.
  std::function<void(absl::Status)> on_refused;
  Clock* clock = nullptr;
};

// Keeps a Session stream to the coordinator open: reconnects with back-off and jitter, for ever. Destroyed, it sends
// what is queued (for a moment), closes the stream and waits for its threads.
class SessionClient final : public SessionLink {
 public:
  explicit SessionClient(SessionClientOptions options);
  ~SessionClient() override;

  void Send(v1::AgentMessage message) override;
  void Reset(const std::string& why) override;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_RPC_SESSION_CLIENT_H_
