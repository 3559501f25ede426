#ifndef MUSTER_COORDINATOR_RUNTIME_STALL_GUARD_H_
#define MUSTER_COORDINATOR_RUNTIME_STALL_GUARD_H_

#include "absl/time/time.h"

namespace muster::coordinator {

// Keeps a coordinator that itself stood still (stopped, swapped out, a slow disk) from taking its own silence for that
// of the nodes: what they sent meanwhile still waits in sockets, and gets `grace` to be read before any deadline
// counts.
class StallGuard {
 public:
  // Looked at every `tick` or more often; a gap of more than `threshold` is a stall.
  StallGuard(absl::Duration threshold, absl::Duration grace) : threshold_(threshold), grace_(grace) {}

  // True if this ends a stall.
  bool OnAwake(absl::Time now) {
    const bool stalled = now - last_awake_ > threshold_;
    if (stalled) held_until_ = now + grace_;
    last_awake_ = now;
    return stalled;
  }

  // Deadlines do not count before.
  absl::Time held_until() const { return held_until_; }

 private:
  const absl::Duration threshold_;
  const absl::Duration grace_;
  absl::Time last_awake_ = absl::InfiniteFuture();
  absl::Time held_until_ = absl::InfinitePast();
};

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_RUNTIME_STALL_GUARD_H_
