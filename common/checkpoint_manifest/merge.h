#ifndef MUSTER_COMMON_CHECKPOINT_MANIFEST_MERGE_H_
#define MUSTER_COMMON_CHECKPOINT_MANIFEST_MERGE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "proto/checkpoint.pb.h"

namespace muster {

// All ranks' reports of one step, in any order -> the manifest of the checkpoint. Tensors come out sorted by name, a
// tensor's chunks by their start, files by rank. Pure.
//
// INVALID_ARGUMENT: a rank is missing or there twice, steps differ, rank 0 sent no header or one of another step or
// world size, ranks disagree on a tensor's dtype or shape, its slices overlap or leave a gap, or a chunk names a file
// that is not its rank's.
absl::StatusOr<v1::CheckpointManifest> MergeShardReports(const std::vector<v1::ShardReport>& reports);

}  // namespace muster

#endif  // MUSTER_COMMON_CHECKPOINT_MANIFEST_MERGE_H_
