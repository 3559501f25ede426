#ifndef MUSTER_COORDINATOR_CORE_LIFECYCLE_H_
#define MUSTER_COORDINATOR_CORE_LIFECYCLE_H_

#include <optional>
#include <string>

#include "coordinator/core/turn.h"

namespace muster::coordinator {

// JobState's transitions (proto/store.proto), all in one place.

void SetJobState(Turn& turn, Job& job, v1::JobState state, const std::string& reason);

// Drops the gang: its generation is closed, its nodes are told. No job state.
void EndGeneration(Turn& turn, Job& job, const std::string& reason,
                   const std::optional<v1::FailureReport>& failure = std::nullopt);

// No gang any more -> PENDING, to be placed as `waiting` says, at `retry_at` at the earliest (InfinitePast: now).
void Requeue(Turn& turn, Job& job, Waiting waiting, absl::Time retry_at);

// SUCCEEDED, FAILED or CANCELLED; drops the gang if there is one.
void FinishJob(Turn& turn, Job& job, v1::JobState state, const std::string& reason);

// All workers may have exited well: then the job is done.
void FinishIfAllExited(Turn& turn, Job& job);

// Cancel: the gang gets the job's grace period.
void StopGang(Turn& turn, Job& job);
// While stopping: the job is CANCELLED once no worker is left.
void FinishIfStopped(Turn& turn, Job& job);
// gang.deadline has come while stopping: what has not answered is fenced by moving on.
void OnStopTimeout(Turn& turn, Job& job);

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_CORE_LIFECYCLE_H_
