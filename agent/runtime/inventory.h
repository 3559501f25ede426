#ifndef MUSTER_AGENT_RUNTIME_INVENTORY_H_
#define MUSTER_AGENT_RUNTIME_INVENTORY_H_

#include <vector>

#include "absl/status/statusor.h"
#include "proto/agent.pb.h"

namespace muster::agent {

// The GPUs that NVML (libnvidia-ml.so.1, found at run time) names. NOT_FOUND: no NVML, or no driver: this node has no
// GPU to offer. INTERNAL: there is one and it fails; the node should not be used before somebody has looked.
absl::StatusOr<std::vector<v1::Slot>> ListGpus();

// `count` places for CPU workers.
std::vector<v1::Slot> CpuSlots(int count);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_RUNTIME_INVENTORY_H_
