#ifndef MUSTER_AGENT_SHIM_OOM_COUNT_H_
#define MUSTER_AGENT_SHIM_OOM_COUNT_H_

#include <cstdint>
#include <optional>

namespace muster::shim {

// How many processes of this process's memory cgroup (v2, else v1) the kernel has killed for lack of memory; nothing
// where the system does not tell. Workers of one agent may share a cgroup, so a count that grew while a worker died by
// SIGKILL is strong evidence, not proof.
std::optional<int64_t> CgroupOomKills();

}  // namespace muster::shim

#endif  // MUSTER_AGENT_SHIM_OOM_COUNT_H_
