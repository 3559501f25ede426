#ifndef MUSTER_COORDINATOR_CORE_RECORDS_H_
#define MUSTER_COORDINATOR_CORE_RECORDS_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "coordinator/core/state.h"
#include "google/protobuf/message_lite.h"

namespace muster::coordinator {

// The newest StoredCluster.schema_version this program reads and writes.
inline constexpr int kSchemaVersion = 1;

// Keys of proto/store.proto.
std::string ClusterKey();
std::string NodeKey(absl::string_view node);
std::string JobKey(absl::string_view job);
std::string GenerationKey(absl::string_view job, uint64_t generation);
std::string CheckpointKey(absl::string_view job, int64_t step);
std::string EventKey(absl::string_view job, uint64_t seq);
std::string MetricsKey(absl::string_view job, int64_t block);

// Equal messages give equal bytes.
std::string Serialize(const google::protobuf::MessageLite& message);

// Fills `state`'s durable parts. FAILED_PRECONDITION: a newer schema; DATA_LOSS: a record that cannot be read or does
// not fit the others.
absl::Status ReadRecords(const std::map<std::string, std::string>& records, State* state);

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_CORE_RECORDS_H_
