#ifndef MUSTER_COMMON_CLOCK_H_
#define MUSTER_COMMON_CLOCK_H_

#include <condition_variable>
#include <functional>
#include <mutex>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace muster {

// The time, and waiting for it. All time in Muster comes from one of these, so that tests own it.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Time Now() const = 0;
  // Waits on `cv` (whose mutex `lock` holds) until `ready()`, or until `deadline`. Returns ready().
  virtual bool WaitUntil(std::unique_lock<std::mutex>& lock, std::condition_variable& cv, absl::Time deadline,
                         const std::function<bool()>& ready) = 0;

  // The machine's clock; never destroyed.
  static Clock* Real();
};

// A clock that stands still until it is advanced. WaitUntil re-checks its deadline only when `cv` is notified, so a
// test that advances the clock notifies too.
class FakeClock : public Clock {
 public:
  explicit FakeClock(absl::Time now = absl::FromUnixSeconds(1'700'000'000)) : now_(now) {}
  absl::Time Now() const override;
  bool WaitUntil(std::unique_lock<std::mutex>& lock, std::condition_variable& cv, absl::Time deadline,
                 const std::function<bool()>& ready) override;
  void Advance(absl::Duration d);

 private:
  mutable std::mutex mu_;
  absl::Time now_;
};

}  // namespace muster

#endif  // MUSTER_COMMON_CLOCK_H_
