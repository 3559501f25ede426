#ifndef MUSTER_TESTS_SIM_SIMULATION_H_
#define MUSTER_TESTS_SIM_SIMULATION_H_

#include <cstdint>
#include <string>
#include <vector>

namespace muster::sim {

// Which faults a run has; `Any` draws them from the seed.
enum class Profile {
  kAny,
  // Nothing may happen to a running gang.
  kCoordinatorRestarts,
  kAgentRestarts,
};

struct Result {
  uint64_t seed = 0;
  bool ok = true;
  // What went wrong, and the last things that happened before.
  std::string what;
  std::vector<std::string> log;
  int faults = 0;
  int generations = 0;
  int jobs = 0;
};

// A cluster's life: jobs are submitted and some cancelled, faults happen for two minutes, then it is quiet and every
// job must come to its end. The same seed gives the same life.
Result Simulate(uint64_t seed, Profile profile, bool print);

}  // namespace muster::sim

#endif  // MUSTER_TESTS_SIM_SIMULATION_H_
