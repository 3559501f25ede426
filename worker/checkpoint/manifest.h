#ifndef MUSTER_WORKER_CHECKPOINT_MANIFEST_H_
#define MUSTER_WORKER_CHECKPOINT_MANIFEST_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/checkpoint.pb.h"

namespace muster::worker {

// The bytes of manifest.json: protobuf's JSON form with the fields' own names, and manifest_xxh3 filled in.
absl::StatusOr<std::string> EncodeManifest(const v1::CheckpointManifest& manifest);

// The other way. `where` is what errors call the file.
//   FAILED_PRECONDITION  of a newer format
//   DATA_LOSS            not JSON, its digest differs, or ValidateManifest refuses it
absl::StatusOr<v1::CheckpointManifest> DecodeManifest(const std::string& bytes, absl::string_view where);

// That a manifest can be trusted as a map of its files: plain file names, each once; known dtype; chunks within their
// files and not over each other; every tensor covered once. FAILED_PRECONDITION (newer format) or DATA_LOSS.
absl::Status ValidateManifest(const v1::CheckpointManifest& manifest, absl::string_view where);

}  // namespace muster::worker

#endif  // MUSTER_WORKER_CHECKPOINT_MANIFEST_H_
