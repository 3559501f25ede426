#include <cstdint>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/strings/str_format.h"
#include "tests/sim/simulation.h"

namespace {

muster::sim::Profile ProfileOf(const std::string& name) {
  if (name == "coordinator-restarts") return muster::sim::Profile::kCoordinatorRestarts;
  if (name == "agent-restarts") return muster::sim::Profile::kAgentRestarts;
  return muster::sim::Profile::kAny;
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t first = 1;
  uint64_t count = 1'000;
  std::string profile = "any";
  bool print = false;
  CLI::App app("Simulates the coordinator's core under faults, a life a seed; stops at the first seed that fails.");
  app.add_option("--first", first, "the first seed")->capture_default_str();
  app.add_option("--count", count, "how many seeds")->capture_default_str();
  app.add_option("--profile", profile, "which faults")
      ->check(CLI::IsMember({"any", "coordinator-restarts", "agent-restarts"}))
      ->capture_default_str();
  app.add_flag("--print", print, "print what happens");
  CLI11_PARSE(app, argc, argv);

  long faults = 0;
  long generations = 0;
  long jobs = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const muster::sim::Result result = muster::sim::Simulate(seed, ProfileOf(profile), print);
    if (!result.ok) {
      if (!print) {
        for (const std::string& line : result.log) absl::PrintF("%s\n", line);
      }
      absl::PrintF("seed %d failed %s\nreplay: tools/soak --profile %s --first %d --count 1 --print\n", seed,
                   result.what, profile, seed);
      return 1;
    }
    faults += result.faults;
    generations += result.generations;
    jobs += result.jobs;
  }
  absl::PrintF("%d seeds from %d, profile %s: %d jobs, %d generations, %d faults, all well\n", count, first, profile,
               jobs, generations, faults);
  return 0;
}
