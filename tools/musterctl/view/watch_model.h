#ifndef MUSTER_TOOLS_MUSTERCTL_VIEW_WATCH_MODEL_H_
#define MUSTER_TOOLS_MUSTERCTL_VIEW_WATCH_MODEL_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/ctl.pb.h"

namespace muster::ctl {

// What a watcher knows of a job: the snapshots, added up. After a reconnect snapshots repeat steps and events; each is
// kept once.
class WatchModel {
 public:
  void Add(const v1::JobSnapshot& snapshot);

  const v1::JobView& job() const { return latest_.job(); }
  const v1::JobSnapshot& latest() const { return latest_; }
  // By step; a later generation's value replaces an earlier one's.
  const std::map<int64_t, v1::StoredStep>& steps() const { return steps_; }
  // By sequence number.
  const std::map<uint64_t, v1::StoredEvent>& events() const { return events_; }
  // Events that the newest snapshot brought.
  const std::vector<v1::StoredEvent>& new_events() const { return new_events_; }
  // 0: none yet.
  double newest_val_loss() const { return newest_val_loss_; }

 private:
  v1::JobSnapshot latest_;
  std::map<int64_t, v1::StoredStep> steps_;
  std::map<uint64_t, v1::StoredEvent> events_;
  std::vector<v1::StoredEvent> new_events_;
  double newest_val_loss_ = 0;
};

// What `watch --until` waits for.
struct WatchGoal {
  enum class Kind { kEnd, kRunning, kStep, kGeneration } kind = Kind::kEnd;
  int64_t number = 0;

  // "end", "running", "step:N", "generation:N"; INVALID_ARGUMENT otherwise.
  static absl::StatusOr<WatchGoal> Parse(absl::string_view text);
  // A step is reached when it is done; a generation when it (or a later one) runs.
  bool ReachedBy(const v1::JobView& job) const;
};

}  // namespace muster::ctl

#endif  // MUSTER_TOOLS_MUSTERCTL_VIEW_WATCH_MODEL_H_
