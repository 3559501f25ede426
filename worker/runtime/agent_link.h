#ifndef MUSTER_WORKER_RUNTIME_AGENT_LINK_H_
#define MUSTER_WORKER_RUNTIME_AGENT_LINK_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "proto/worker.pb.h"

namespace muster::worker {

// One call each to the agent's WorkerService; the errors are those of proto/worker.proto. Thread-safe.
class AgentLink {
 public:
  virtual ~AgentLink() = default;
  virtual absl::StatusOr<v1::HelloReply> Hello(const v1::HelloRequest& request) = 0;
  // Blocks until the gang has formed.
  virtual absl::StatusOr<v1::JoinReply> Join(const v1::JoinRequest& request) = 0;
  virtual absl::StatusOr<v1::ReportReply> Report(const v1::ReportRequest& request) = 0;
};

// How long an agent may be away (it restarts, say) before a worker that needs it gives up.
inline constexpr absl::Duration kAgentPatience = absl::Seconds(60);

// These call again while the agent is UNAVAILABLE, for at most `patience` at a stretch.
absl::StatusOr<v1::HelloReply> PatientHello(AgentLink* agent, const v1::HelloRequest& request, Clock* clock,
                                            absl::Duration patience = kAgentPatience);
// The blobs of all `world_size` ranks.
absl::StatusOr<std::vector<std::string>> PatientJoin(AgentLink* agent, const v1::JoinRequest& request, int world_size,
                                                     Clock* clock, absl::Duration patience = kAgentPatience);

}  // namespace muster::worker

#endif  // MUSTER_WORKER_RUNTIME_AGENT_LINK_H_
