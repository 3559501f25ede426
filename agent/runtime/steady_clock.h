#ifndef MUSTER_AGENT_RUNTIME_STEADY_CLOCK_H_
#define MUSTER_AGENT_RUNTIME_STEADY_CLOCK_H_

#include <chrono>

#include "common/clock.h"

namespace muster::agent {

// Starts at the wall clock's time and goes on evenly whatever is done to that: leases and grace periods must not end
// because somebody has set the machine's clock.
class SteadyClock final : public Clock {
 public:
  SteadyClock() : wall_(Clock::Real()->Now()), steady_(std::chrono::steady_clock::now()) {}

  absl::Time Now() const override { return wall_ + absl::FromChrono(std::chrono::steady_clock::now() - steady_); }

  bool WaitUntil(std::unique_lock<std::mutex>& lock, std::condition_variable& cv, absl::Time deadline,
                 const std::function<bool()>& ready) override {
    if (deadline == absl::InfiniteFuture()) {
      cv.wait(lock, ready);
      return true;
    }
    return cv.wait_for(lock, absl::ToChronoNanoseconds(deadline - Now()), ready);
  }

 private:
  const absl::Time wall_;
  const std::chrono::steady_clock::time_point steady_;
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_RUNTIME_STEADY_CLOCK_H_
