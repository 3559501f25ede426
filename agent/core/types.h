#ifndef MUSTER_AGENT_CORE_TYPES_H_
#define MUSTER_AGENT_CORE_TYPES_H_

#include <string>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "common/ids.h"

namespace muster::agent {

// A call of a worker's that has not been answered, in this agent process.
using CallId = StrongId<struct CallIdTag, uint64_t>;

// A gang: one generation of one job.
struct GangKey {
  JobId job;
  Generation generation;

  friend bool operator==(const GangKey& a, const GangKey& b) { return a.job == b.job && a.generation == b.generation; }
  friend bool operator<(const GangKey& a, const GangKey& b) {
    return std::tie(a.job, a.generation) < std::tie(b.job, b.generation);
  }
  std::string ToString() const { return absl::StrCat(job.value(), " generation ", generation.value()); }
};

// A worker of this node. A rank starts at most once in a generation, so this names one process.
struct WorkerKey {
  GangKey gang;
  int rank = 0;

  friend bool operator==(const WorkerKey& a, const WorkerKey& b) { return a.gang == b.gang && a.rank == b.rank; }
  friend bool operator<(const WorkerKey& a, const WorkerKey& b) {
    return std::tie(a.gang, a.rank) < std::tie(b.gang, b.rank);
  }
  std::string ToString() const { return absl::StrCat("rank ", rank, " of ", gang.ToString()); }
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_CORE_TYPES_H_
