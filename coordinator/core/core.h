#ifndef MUSTER_COORDINATOR_CORE_CORE_H_
#define MUSTER_COORDINATOR_CORE_CORE_H_

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "coordinator/core/events.h"

namespace muster::coordinator {

struct CoreOptions {
  // A node is lost this long after its last message.
  absl::Duration lease = absl::Seconds(3);
  absl::Duration heartbeat_interval = absl::Milliseconds(500);
  // After a peer-lost report: how long to look for the cause (an exit, a broken stream) before the gang is restarted
  // all the same.
  absl::Duration diagnose_window = absl::Milliseconds(500);
  // A start with fewer nodes than nodes.max waits this long for more.
  absl::Duration gather_window = absl::Milliseconds(500);
  // All agents prepared; all workers joined.
  absl::Duration prepare_timeout = absl::Seconds(30);
  absl::Duration join_timeout = absl::Seconds(60);
};

struct State;

// The coordinator's decisions: a deterministic state machine with no thread, lock, clock, socket, file or random
// number in it. The same events at the same times give the same effects, byte for byte.
class Core {
 public:
  // From the records of an earlier process (none: a new cluster, named `new_cluster_id`). FAILED_PRECONDITION when the
  // records are of a newer schema; DATA_LOSS when one cannot be read.
  static absl::StatusOr<std::unique_ptr<Core>> Load(const CoreOptions& options,
                                                    const std::map<std::string, std::string>& records, absl::Time now,
                                                    const std::string& new_cluster_id, Effects* effects);
  ~Core();

  Effects Step(const Event& event, absl::Time now);

  // When Step(TimePassed) is due next; InfiniteFuture if never.
  absl::Time NextDeadline() const;

  // For views (core/views.h).
  const State& state() const { return *state_; }

 private:
  Core(const CoreOptions& options, std::unique_ptr<State> state);

  const CoreOptions options_;
  const std::unique_ptr<State> state_;
};

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_CORE_CORE_H_
