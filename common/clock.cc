#include "common/clock.h"

#include <chrono>

namespace muster {
namespace {

class RealClock final : public Clock {
 public:
  absl::Time Now() const override { return absl::Now(); }
  bool WaitUntil(std::unique_lock<std::mutex>& lock, std::condition_variable& cv, absl::Time deadline,
                 const std::function<bool()>& ready) override {
    if (deadline == absl::InfiniteFuture()) {
      cv.wait(lock, ready);
      return true;
    }
    // The steady clock: a step of the wall clock must not stretch a wait.
    const auto left = absl::ToChronoNanoseconds(deadline - absl::Now());
    return cv.wait_for(lock, left, ready);
  }
};

}  // namespace

Clock* Clock::Real() {
  static RealClock* const clock = new RealClock;
  return clock;
}

absl::Time FakeClock::Now() const {
  std::lock_guard<std::mutex> lock(mu_);
  return now_;
}

bool FakeClock::WaitUntil(std::unique_lock<std::mutex>& lock, std::condition_variable& cv, absl::Time deadline,
                          const std::function<bool()>& ready) {
  while (!ready()) {
    if (Now() >= deadline) return false;
    cv.wait(lock);
  }
  return true;
}

void FakeClock::Advance(absl::Duration d) {
  std::lock_guard<std::mutex> lock(mu_);
  now_ += d;
}

}  // namespace muster
