#ifndef MUSTER_COORDINATOR_CORE_VIEWS_H_
#define MUSTER_COORDINATOR_CORE_VIEWS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "coordinator/core/core.h"
#include "proto/ctl.pb.h"

namespace muster::coordinator {

// What clients see of the state. Pure.

// By id, or by name: the newest job of that name. NOT_FOUND names what was asked.
absl::StatusOr<JobId> FindJob(const State& state, absl::string_view job);

v1::JobView ViewOfJob(const State& state, const JobId& job);
v1::JobDetail DetailOfJob(const State& state, const JobId& job);
// Submitted order.
std::vector<v1::JobView> ViewsOfJobs(const State& state, bool unfinished_only);
std::vector<v1::NodeView> ViewsOfNodes(const State& state);
std::vector<v1::StoredCheckpoint> CheckpointsOfJob(const State& state, const JobId& job);
// Steps from `first_step` on, in order, each once.
std::vector<v1::StoredStep> StepsOfJob(const State& state, const JobId& job, int64_t first_step);
// Events from sequence number `first` on.
std::vector<v1::StoredEvent> EventsOfJob(const State& state, const JobId& job, uint64_t first);
bool IsFinished(v1::JobState state);
std::string ClusterId(const State& state);

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_CORE_VIEWS_H_
