#ifndef MUSTER_COORDINATOR_RPC_WATCH_CURSOR_H_
#define MUSTER_COORDINATOR_RPC_WATCH_CURSOR_H_

#include <cstdint>

#include "common/ids.h"
#include "coordinator/core/core.h"
#include "proto/ctl.pb.h"

namespace muster::coordinator {

// What one watcher of a job has seen. Pure.
class WatchCursor {
 public:
  explicit WatchCursor(JobId job) : job_(std::move(job)) {}

  // The job now, with the steps and events that are new since the call before. Steps that a later generation did again
  // are new.
  v1::JobSnapshot Next(const State& state);

 private:
  void AddSteps(const State& state, const v1::JobDetail& detail, v1::JobSnapshot* snapshot);
  void AddEvents(const v1::JobDetail& detail, v1::JobSnapshot* snapshot);

  const JobId job_;
  bool first_ = true;
  int64_t newest_step_ = 0;
  uint64_t generation_ = 0;  // of the newest step
  uint64_t next_event_ = 0;
};

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_RPC_WATCH_CURSOR_H_
