#ifndef MUSTER_WORKER_RUNTIME_MANIFEST_HEADER_H_
#define MUSTER_WORKER_RUNTIME_MANIFEST_HEADER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "proto/checkpoint.pb.h"
#include "proto/worker.pb.h"

namespace muster::worker {

// What a checkpoint says beside its tensors and files. `train` has its defaults.
v1::CheckpointManifest ManifestHeader(const v1::WorkerRef& worker, const v1::HelloReply& hello, int64_t step,
                                      int64_t samples_per_epoch);

// Whether training can go on from `manifest` as if it had never stopped: same model, batch, schedule, seed and data.
// FAILED_PRECONDITION names the first field that differs, with both values.
absl::Status CheckResume(const v1::CheckpointManifest& manifest, const v1::TrainSpec& train, int64_t samples_per_epoch);

}  // namespace muster::worker

#endif  // MUSTER_WORKER_RUNTIME_MANIFEST_HEADER_H_
