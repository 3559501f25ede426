#ifndef MUSTER_COORDINATOR_CORE_CHECKPOINT_H_
#define MUSTER_COORDINATOR_CORE_CHECKPOINT_H_

#include "coordinator/core/turn.h"

namespace muster::coordinator {

// A rank of the current generation saved its shard. Commits the checkpoint with the last one.
void OnShard(Turn& turn, Job& job, const Worker& worker, const v1::ShardReport& shard);

void OnPublished(Turn& turn, Job& job, const v1::CheckpointPublished& published);

// A new generation removes what older ones had saved and not published, all but the one it restores from.
void DropUnpublished(Turn& turn, Job& job);

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_CORE_CHECKPOINT_H_
