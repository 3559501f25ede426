#ifndef MUSTER_AGENT_RUNTIME_SPAWN_SHIM_H_
#define MUSTER_AGENT_RUNTIME_SPAWN_SHIM_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace muster::agent {

struct ShimStart {
  std::string program;
  // The worker's folder: the shim's socket and log are in it.
  std::string folder;
  std::string working_dir;
  absl::Duration orphan_after;
  std::vector<std::string> command;
  // The whole environment, "NAME=value".
  std::vector<std::string> environment;
};

// Makes the shim's listening socket, starts the shim on it by posix_spawn (a fork would copy gRPC's locks), and returns
// a connection. INTERNAL, with the reason, if there is no such program or no process to be had.
absl::StatusOr<int> SpawnShim(const ShimStart& start);

// A connection to the shim of this folder. NOT_FOUND: there is none (any more); INTERNAL: anything else.
absl::StatusOr<int> ConnectShim(const std::string& folder);

// This process's environment with `set` in place of its own values, and `defaults` where it has none.
std::vector<std::string> MergedEnvironment(const std::map<std::string, std::string>& set,
                                           const std::map<std::string, std::string>& defaults);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_RUNTIME_SPAWN_SHIM_H_
