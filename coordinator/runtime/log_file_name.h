#ifndef MUSTER_COORDINATOR_RUNTIME_LOG_FILE_NAME_H_
#define MUSTER_COORDINATOR_RUNTIME_LOG_FILE_NAME_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/ids.h"
#include "proto/agent.pb.h"

namespace muster::coordinator {

// One worker's log: of a rank of a generation, on a node. Ordered by generation, then rank.
struct LogFileName {
  Generation generation;
  int rank = 0;
  NodeId node;

  // "g<generation>-r<rank>.<node>.log"
  std::string ToString() const;
  // nullopt: no such name, so no log of ours.
  static std::optional<LogFileName> Parse(absl::string_view name);

  friend bool operator<(const LogFileName& a, const LogFileName& b);
  friend bool operator==(const LogFileName& a, const LogFileName& b);
};

// Whether it has the form that the coordinator gives job ids; nothing of that form leaves the folder it is put in.
bool IsJobId(absl::string_view id);

// The file a chunk belongs to. INVALID_ARGUMENT names what cannot be: these come from outside and become a path.
absl::StatusOr<LogFileName> FileOfChunk(const v1::LogChunk& chunk);

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_RUNTIME_LOG_FILE_NAME_H_
