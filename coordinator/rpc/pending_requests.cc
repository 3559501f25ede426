#include "coordinator/rpc/pending_requests.h"

#include <utility>

namespace muster::coordinator {

RequestId PendingRequests::Add(Done done) {
  absl::Status closed;
  RequestId id;
  {
    std::lock_guard<std::mutex> lock(mu_);
    id = RequestId(next_++);
    closed = closed_;
    if (closed.ok()) {
      waiting_.emplace(id, std::move(done));
      return id;
    }
  }
  done(closed);
  return id;
}

void PendingRequests::Complete(RequestId request, absl::StatusOr<v1::JobView> result) {
  Done done;
  {
    std::lock_guard<std::mutex> lock(mu_);
    auto it = waiting_.find(request);
    if (it == waiting_.end()) return;
    done = std::move(it->second);
    waiting_.erase(it);
  }
  done(std::move(result));
}

void PendingRequests::FailAll(const absl::Status& status) {
  std::map<RequestId, Done> waiting;
  {
    std::lock_guard<std::mutex> lock(mu_);
    closed_ = status;
    waiting.swap(waiting_);
  }
  for (auto& [id, done] : waiting) done(status);
}

}  // namespace muster::coordinator
