#ifndef MUSTER_AGENT_RPC_WORKER_SERVICE_H_
#define MUSTER_AGENT_RPC_WORKER_SERVICE_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "agent/core/events.h"
#include "agent/runtime/links.h"

namespace muster::agent {

// The worker service (proto/worker.proto) on a Unix socket: turns calls into HelloCalled, JoinCalled, ReportCalled and
// CallEnded. Destroyed, it ends what is open with UNAVAILABLE.
class WorkerServer final : public WorkerCalls {
 public:
  // Replaces a socket that an earlier agent has left at `path`. INTERNAL: cannot listen there.
  static absl::StatusOr<std::unique_ptr<WorkerServer>> Start(const std::string& path,
                                                             std::function<void(Event)> on_event);
  ~WorkerServer() override;

  void Answer(CallId call, absl::StatusOr<WorkerReply> reply) override;

 private:
  class Impl;
  explicit WorkerServer(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_RPC_WORKER_SERVICE_H_
