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
#include "worker/checkpoint/layout.h"
#include "worker/checkpoint/tensor_slice.h"

namespace muster::worker {

// A checkpoint is born in <job dir>/step-<8 digits>.tmp-<generation>, where every rank writes and syncs its shard. The
// coordinator commits it once all ranks have reported; then rank 0 publishes it: manifest.json, sync, rename to
// step-<8 digits>, sync of the job's folder. docs/checkpoint_format.md has the format.

// <spec dir>/<job id>
std::string JobCheckpointDir(const std::string& spec_dir, const std::string& job_id);
// StepDirName(step): layout.h.

struct SaveOptions {
  std::string job_dir;
  int64_t step = 0;
  uint64_t generation = 0;
  int rank = 0;
  int world_size = 1;
  // Everything of the manifest but tensors and files; goes into rank 0's report. format_version, step, generation and
  // world_size are filled in. job_id and job_uid are also written into every rank's shard, which marks an unpublished
  // folder as this job's.
  v1::CheckpointManifest header;
};

// Writes shard-<rank>-of-<world>.safetensors and syncs it. What is there of an earlier try of the same generation is
// replaced. Never copies the data: slices are hashed and written a mebibyte at a time, from where they lie, and must
// not change before this returns. After an error no shard of this rank is left.
//   INVALID_ARGUMENT    a slice outside its tensor, or two that overlap
//   RESOURCE_EXHAUSTED  the disk is full
//   PERMISSION_DENIED   the folder cannot be written
absl::StatusOr<v1::ShardReport> SaveShard(FileSystem* fs, const SaveOptions& options,
                                          const std::vector<TensorSlice>& slices);

// All ranks' reports of one step -> the manifest. Pure. INVALID_ARGUMENT when slices overlap, leave a gap, or ranks
// disagree on a shape.
absl::StatusOr<v1::CheckpointManifest> MergeShardReports(const std::vector<v1::ShardReport>& reports);

// Makes a committed checkpoint visible. Again after it was done: OK. A published one of an older generation of the same
// job is replaced. Returns the final path.
//   ALREADY_EXISTS       a folder of that name belongs to another job (another job_uid), or to nobody known
//   FAILED_PRECONDITION  a newer generation has published this step
//   NOT_FOUND            the saved folder, or a shard in it, is gone
//   DATA_LOSS            a shard has not the size that was reported
absl::StatusOr<std::string> Publish(FileSystem* fs, const std::string& job_dir, const v1::CheckpointManifest& manifest);

// Manifest first (renamed to removing.json, so that a removal that was cut short can go on), then the files it names,
// then the folder, unless somebody has put files of his own there. Not there: OK. A folder of another job, or without a
// manifest, is left alone (FAILED_PRECONDITION).
absl::Status RemoveCheckpoint(FileSystem* fs, const std::string& job_dir, int64_t step, const std::string& job_uid);
// Folders of unpublished saves of this job older than `generation` (rank 0, at start, after it has published what is
// committed). Left alone: a folder with a manifest (it is committed, and only its rename is missing), and, with
// `job_uid`, one with a shard of another job.
absl::Status RemoveAbandonedSaves(FileSystem* fs, const std::string& job_dir, uint64_t generation,
                                  const std::string& job_uid = "");

// Parses and validates <path>/manifest.json. One line that names the file and what is wrong.
//   NOT_FOUND            no manifest.json: not a checkpoint
//   FAILED_PRECONDITION  written by a newer format
//   DATA_LOSS            damaged
absl::StatusOr<v1::CheckpointManifest> ReadManifest(FileSystem* fs, const std::string& path);

// Fills `targets`, which may be any slices of the checkpoint's tensors, by interval arithmetic over its chunks; checks
// the digest of each chunk that it needs, over the whole chunk, reading it once and a mebibyte at a time. After an
// error the targets hold anything.
//   NOT_FOUND         a tensor or file is missing
//   DATA_LOSS         a digest or size differs (names file, tensor and offset), or the manifest is not sound
//   INVALID_ARGUMENT  shapes disagree
absl::Status LoadSlices(FileSystem* fs, const std::string& path, const v1::CheckpointManifest& manifest,
                        const std::vector<TensorSlice>& targets);

// Every file's size and digest, every chunk, full coverage of every tensor, and that each shard's own header says the
// same as the manifest. Errors as LoadSlices.
absl::Status VerifyCheckpoint(FileSystem* fs, const std::string& path);

}  // namespace muster::worker

#endif  // MUSTER_WORKER_CHECKPOINT_CHECKPOINT_H_
