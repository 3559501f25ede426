#ifndef MUSTER_COORDINATOR_RUNTIME_EFFECT_SINKS_H_
#define MUSTER_COORDINATOR_RUNTIME_EFFECT_SINKS_H_

#include <set>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/ids.h"
#include "proto/agent.pb.h"
#include "proto/ctl.pb.h"

namespace muster::coordinator {

// Where effects go once they are durable. Called by the driver's thread alone; must not block. Sessions and requests
// that are gone by then are ignored.
class EffectSinks {
 public:
  virtual ~EffectSinks() = default;
  virtual void Send(SessionId session, v1::CoordinatorMessage message) = 0;
  virtual void EndSession(SessionId session, const absl::Status& status) = 0;
  virtual void Reply(RequestId request, absl::StatusOr<v1::JobView> result) = 0;
  virtual void JobsChanged(const std::set<JobId>& jobs) = 0;
};

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_RUNTIME_EFFECT_SINKS_H_
