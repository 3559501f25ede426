#ifndef MUSTER_COORDINATOR_RUNTIME_DRIVER_H_
#define MUSTER_COORDINATOR_RUNTIME_DRIVER_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "coordinator/core/core.h"
#include "coordinator/runtime/effect_sinks.h"
#include "coordinator/runtime/held_effects.h"
#include "coordinator/runtime/stall_guard.h"
#include "coordinator/storage/state_store.h"

namespace muster::coordinator {

struct DriverOptions {
  // Events that go into one commit at most.
  size_t max_batch = 256;
  // While commits fail: beyond so many effects that wait, events stay in the queue.
  size_t max_held = 10'000;
  absl::Duration first_retry = absl::Milliseconds(100);
  absl::Duration last_retry = absl::Seconds(5);
  // See StallGuard; the driver wakes every `tick`.
  absl::Duration tick = absl::Milliseconds(200);
  absl::Duration stall_threshold = absl::Milliseconds(600);
  absl::Duration stall_grace = absl::Milliseconds(750);
  // The state can no longer be stored by this process (another owns the store, or the file is damaged): it must stop.
  // Called at most once, by the driver's thread; nothing is stepped, sent or stored afterwards.
  std::function<void(const absl::Status&)> on_fatal;
};

// Runs the core: one thread takes the events that wait, steps the core with each, commits all their records in one
// transaction, and only then hands the effects on. While a commit fails nothing is handed on (but acknowledged
// heartbeats, so that no node loses its lease), no deadline counts, and the commit is tried again.
class Driver {
 public:
  struct Snapshot {
    // Durable as it is.
    const Core* core;
    absl::Time now;
  };
  using Reader = std::function<void(absl::StatusOr<Snapshot>)>;

  // `initial`: of Core::Load. Pointers outlive the driver.
  Driver(DriverOptions options, std::unique_ptr<Core> core, Effects initial, StateStore* store, Clock* clock,
         EffectSinks* sinks);
  // Stops.
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  void Start();
  // Returns once the thread has ended; events that were not taken are dropped. Not from the driver's thread.
  void Stop();

  // Thread-safe. `taken`, if given, is called by the driver's thread once the core has seen the event: a source that
  // waits for it cannot fill the queue.
  void Post(Event event, std::function<void()> taken = nullptr);

  // Thread-safe. Calls `reader` once, after all events posted before are durable: on the driver's thread, and it must
  // not block. UNAVAILABLE (maybe on the caller's thread) while the state cannot be stored, or after Stop.
  void Read(Reader reader);

  // Wakes the thread, for a clock that a test has advanced.
  void Wake();

 private:
  struct Item {
    Event event;
    std::function<void()> taken;
  };

  void Run();
  // Blocks until there is something to do; moves it out. False: stop.
  bool Take(std::vector<Item>* items, std::vector<Reader>* readers);
  absl::Time WakeAt(absl::Time now) const;
  void Step(const Event& event, absl::Time now);
  void StepTimer(absl::Time now);
  // False once the store is lost for good.
  bool CommitHeld();
  void Apply(Effects effects);
  void Answer(std::vector<Reader>* readers);

  const DriverOptions options_;
  const std::unique_ptr<Core> core_;
  StateStore* const store_;
  Clock* const clock_;
  EffectSinks* const sinks_;

  // The thread's own.
  HeldEffects held_;
  StallGuard stall_guard_;
  absl::Status store_status_;  // of the last commit
  absl::Duration retry_after_;
  absl::Time retry_at_ = absl::InfinitePast();
  uint64_t taken_ = 0;
  // A deadline has come; it counts once the events that waited by then are taken.
  std::optional<uint64_t> timer_after_;

  std::thread thread_;

  std::mutex mu_;
  std::condition_variable cv_;
  // Guarded by mu_.
  std::deque<Item> events_;
  // Each with how many events were posted before it.
  std::deque<std::pair<uint64_t, Reader>> readers_;
  uint64_t posted_ = 0;
  bool woken_ = false;
  bool stopping_ = false;
};

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_RUNTIME_DRIVER_H_
