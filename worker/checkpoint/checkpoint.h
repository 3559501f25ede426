#ifndef MUSTER_WORKER_CHECKPOINT_CHECKPOINT_H_
#define MUSTER_WORKER_CHECKPOINT_CHECKPOINT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/file_system.h"
#include "proto/agent.pb.h"
#include "proto/checkpoint.pb.h"
#include "worker/checkpoint/tensor_slice.h"

namespace muster::worker {

// A checkpoint is born in <job dir>/step-<8 digits>.tmp-<generation>, where every rank writes and syncs its shard. The
// coordinator commits it once all ranks have reported; then rank 0 publishes it: manifest.json, sync, rename to
// step-<8 digits>, sync of the job's folder. docs/checkpoint_format.md has the format.

// <spec dir>/<job id>
std::string JobCheckpointDir(const std::string& spec_dir, const std::string& job_id);
std::string StepDirName(int64_t step);

struct SaveOptions {
  std::string job_dir;
  int64_t step = 0;
  uint64_t generation = 0;
  int rank = 0;
  int world_size = 1;
  // Everything of the manifest but tensors and files; goes into rank 0's report.
  v1::CheckpointManifest header;
};

// Writes shard-<rank>-of-<world>.safetensors and syncs it. What is there of an earlier try of the same generation is
// replaced. Never holds more than a bounded chunk of copied data.
absl::StatusOr<v1::ShardReport> SaveShard(FileSystem* fs, const SaveOptions& options,
                                          const std::vector<TensorSlice>& slices);

// All ranks' reports of one step -> the manifest. Pure. INVALID_ARGUMENT when slices overlap, leave a gap, or ranks
// disagree on a shape.
absl::StatusOr<v1::CheckpointManifest> MergeShardReports(const std::vector<v1::ShardReport>& reports);

// Makes a committed checkpoint visible. Again after it was done: OK. ALREADY_EXISTS when a folder of that name belongs
// to another job (another job_uid). Returns the final path.
absl::StatusOr<std::string> Publish(FileSystem* fs, const std::string& job_dir, const v1::CheckpointManifest& manifest);

// Manifest first, then the files it names, then the folder. A folder of another job is left alone (FAILED_PRECONDITION).
absl::Status RemoveCheckpoint(FileSystem* fs, const std::string& job_dir, int64_t step, const std::string& job_uid);
// Folders of unpublished saves of this job older than `generation` (rank 0, at start).
absl::Status RemoveAbandonedSaves(FileSystem* fs, const std::string& job_dir, uint64_t generation);

// Parses <path>/manifest.json. One line that names the file and what is wrong.
absl::StatusOr<v1::CheckpointManifest> ReadManifest(FileSystem* fs, const std::string& path);

// Fills `targets`, which may be any slices of the checkpoint's tensors, by interval arithmetic over its chunks; checks
// each chunk's digest. NOT_FOUND: a tensor or file is missing; DATA_LOSS: a digest or size differs (names file, tensor
// and offset); INVALID_ARGUMENT: shapes disagree.
absl::Status LoadSlices(FileSystem* fs, const std::string& path, const v1::CheckpointManifest& manifest,
                        const std::vector<TensorSlice>& targets);

// Every file's size and digest, every chunk, full coverage of every tensor.
absl::Status VerifyCheckpoint(FileSystem* fs, const std::string& path);

}  // namespace muster::worker

#endif  // MUSTER_WORKER_CHECKPOINT_CHECKPOINT_H_
