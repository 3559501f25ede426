#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/sim/simulation.h"

namespace muster::sim {
namespace {

void ExpectAllWell(Profile profile, const std::string& name, uint64_t count) {
  for (uint64_t seed = 1; seed <= count; ++seed) {
    const Result result = Simulate(seed, profile, false);
    ASSERT_TRUE(result.ok) << "seed " << seed << " failed " << result.what << "\nreplay: tools/soak --profile " << name
                           << " --first " << seed << " --count 1 --print";
  }
}

TEST(Simulation, AnyFaultsEndWell) { ExpectAllWell(Profile::kAny, "any", 100); }

TEST(Simulation, CoordinatorRestartsTouchNoWorker) {
  ExpectAllWell(Profile::kCoordinatorRestarts, "coordinator-restarts", 25);
}

TEST(Simulation, AgentRestartsTouchNoWorker) { ExpectAllWell(Profile::kAgentRestarts, "agent-restarts", 25); }

TEST(Simulation, SameSeedGivesTheSameLife) {
  const Result once = Simulate(7, Profile::kAny, false);
  const Result again = Simulate(7, Profile::kAny, false);
  EXPECT_EQ(once.log, again.log);
  EXPECT_EQ(once.generations, again.generations);
}

}  // namespace
}  // namespace muster::sim
