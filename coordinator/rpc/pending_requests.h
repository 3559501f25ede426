#ifndef MUSTER_COORDINATOR_RPC_PENDING_REQUESTS_H_
#define MUSTER_COORDINATOR_RPC_PENDING_REQUESTS_H_

#include <functional>
#include <map>
#include <mutex>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/ids.h"
#include "proto/ctl.pb.h"

namespace muster::coordinator {

// Calls that wait for the core's reply. Thread-safe.
class PendingRequests {
 public:
  using Done = std::function<void(absl::StatusOr<v1::JobView>)>;

  // `done` is called once. After FailAll: at once.
  RequestId Add(Done done);
  void Complete(RequestId request, absl::StatusOr<v1::JobView> result);
  // What waits now, and whatever comes later, ends with `status`.
  void FailAll(const absl::Status& status);

 private:
  std::mutex mu_;
  // Guarded by mu_.
  uint64_t next_ = 1;
  std::map<RequestId, Done> waiting_;
  absl::Status closed_;
};

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_RPC_PENDING_REQUESTS_H_
