#ifndef MUSTER_AGENT_RUNTIME_PORT_LEASES_H_
#define MUSTER_AGENT_RUNTIME_PORT_LEASES_H_

#include <cstdint>
#include <map>
#include <random>

#include "absl/status/statusor.h"
#include "agent/core/types.h"

namespace muster::agent {

// Ports for MASTER_PORT, each held by a socket bound to it until its worker is launched, so that neither another agent
// of this machine nor a program that asks for any free port gets it. Between Release and the worker's own bind there is
// a moment in which it can be lost; the gang then gets another port in its next generation. Not thread-safe.
class PortLeases {
 public:
  // Inclusive. `seed`: where to begin, so that agents of one machine do not follow each other's steps.
  PortLeases(int first, int last, uint64_t seed) : first_(first), last_(last), random_(seed) {}
  ~PortLeases();

  // Again for the same gang: the same port. RESOURCE_EXHAUSTED: all of the range are taken.
  absl::StatusOr<int> Lease(const GangKey& gang);
  void Release(const GangKey& gang);

 private:
  struct Held {
    int port;
    int fd;
  };

  const int first_, last_;
  std::mt19937_64 random_;
  std::map<GangKey, Held> held_;
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_RUNTIME_PORT_LEASES_H_
