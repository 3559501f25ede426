#ifndef MUSTER_AGENT_SHIM_PROCESS_TREE_H_
#define MUSTER_AGENT_SHIM_PROCESS_TREE_H_

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace muster::shim {

// All processes below `root`, parents before children, from /proc. A snapshot: a process that forks meanwhile may have
// a child that is not in it, so whoever wants all of them dead asks again until none is left.
std::vector<pid_t> Descendants(pid_t root);

// When `pid` started, in clock ticks since boot; 0 if there is no such process (or it is a zombie's leftover).
uint64_t StartTicks(pid_t pid);

}  // namespace muster::shim

#endif  // MUSTER_AGENT_SHIM_PROCESS_TREE_H_
