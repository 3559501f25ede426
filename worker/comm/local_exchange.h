#ifndef MUSTER_WORKER_COMM_LOCAL_EXCHANGE_H_
#define MUSTER_WORKER_COMM_LOCAL_EXCHANGE_H_

#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/clock.h"
#include "worker/comm/factory.h"

namespace muster::worker {

// The rendezvous of ranks that are threads of one process: what the coordinator is to real ones.
class LocalExchange {
 public:
  explicit LocalExchange(int size) : blobs_(size) {}

  ExchangeFn ForRank(int rank) {
    return [this, rank](const std::string& blob) -> absl::StatusOr<std::vector<std::string>> {
      std::unique_lock<std::mutex> lock(mu_);
      blobs_[rank] = blob;
      ++calls_;
      cv_.notify_all();
      const absl::Time deadline = Clock::Real()->Now() + absl::Seconds(60);
      if (!Clock::Real()->WaitUntil(lock, cv_, deadline, [&] { return calls_ >= static_cast<int>(blobs_.size()); })) {
        return absl::DeadlineExceededError("not all ranks came to the rendezvous");
      }
      return blobs_;
    };
  }

  int calls() {
    std::lock_guard<std::mutex> lock(mu_);
    return calls_;
  }

 private:
  std::mutex mu_;
  std::condition_variable cv_;
  std::vector<std::string> blobs_;
  int calls_ = 0;
};

}  // namespace muster::worker

#endif  // MUSTER_WORKER_COMM_LOCAL_EXCHANGE_H_
