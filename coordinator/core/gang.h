#ifndef MUSTER_COORDINATOR_CORE_GANG_H_
#define MUSTER_COORDINATOR_CORE_GANG_H_

#include <string>
#include <vector>

#include "coordinator/core/turn.h"

namespace muster::coordinator {

// Decides the job's next generation on these nodes. The job has no gang.
void StartGeneration(Turn& turn, Job& job, std::vector<v1::PlacedNode> nodes, const std::string& reason);

// After a restart of the coordinator: the gang of the job's current generation, as far as the records tell.
Gang RebuildGang(const Job& job, const CoreOptions& options, absl::Time now);

// Messages of the current generation.
void OnPrepared(Turn& turn, Job& job, const NodeId& node, const v1::GangPrepared& prepared);
void OnWorkerStatus(Turn& turn, Job& job, const NodeId& node, const v1::WorkerStatus& status);

// The node's agent (re)connected: sends the blobs again to workers that may have missed them.
void ResendJoined(Turn& turn, Job& job, const NodeId& node);

// gang.deadline has come.
void OnPrepareTimeout(Turn& turn, Job& job);
void OnJoinTimeout(Turn& turn, Job& job);

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_CORE_GANG_H_
