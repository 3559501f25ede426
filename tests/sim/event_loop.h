#ifndef MUSTER_TESTS_SIM_EVENT_LOOP_H_
#define MUSTER_TESTS_SIM_EVENT_LOOP_H_

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "absl/time/time.h"

namespace muster::sim {

// Simulated time: what is due runs in the order of its time, then of its making.
class EventLoop {
 public:
  absl::Time now() const { return now_; }

  void After(absl::Duration d, std::function<void()> f) { queue_[{now_ + d, next_++}] = std::move(f); }

  // Until `end`, or until `stop()`.
  void Run(absl::Time end, const std::function<bool()>& stop) {
    while (!queue_.empty() && queue_.begin()->first.first <= end && !stop()) {
      auto node = queue_.extract(queue_.begin());
      now_ = node.key().first;
      node.mapped()();
    }
    if (!stop()) now_ = end;
  }

 private:
  absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
  uint64_t next_ = 0;
  std::map<std::pair<absl::Time, uint64_t>, std::function<void()>> queue_;
};

}  // namespace muster::sim

#endif  // MUSTER_TESTS_SIM_EVENT_LOOP_H_
