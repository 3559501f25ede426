#ifndef MUSTER_TESTS_SIM_WORLD_H_
#define MUSTER_TESTS_SIM_WORLD_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/sim/event_loop.h"
#include "tests/sim/random.h"
#include "tests/sim/shared_disk.h"

namespace muster::sim {

class SimCoordinator;
class SimAgent;
class Mesh;

// What all parts of a simulation share. Not owned by any of them.
struct World {
  explicit World(uint64_t seed) : random(seed) {}

  EventLoop loop;
  Random random;
  SharedDisk disk;
  SimCoordinator* coordinator = nullptr;
  std::vector<std::shared_ptr<SimAgent>> agents;
  // By "<job>/<generation>".
  std::map<std::string, std::shared_ptr<Mesh>> meshes;

  // The first thing that went wrong.
  std::optional<std::string> failure;
  // What happened, newest last.
  std::vector<std::string> log;
  bool print = false;

  void Fail(const std::string& what) {
    if (failure.has_value()) return;
    failure = absl::StrCat("at ", absl::FormatDuration(loop.now() - start), ": ", what);
    Log(absl::StrCat("FAILED: ", what));
  }
  void Log(const std::string& line) {
    const std::string text = absl::StrCat(absl::FormatDuration(loop.now() - start), " ", line);
    if (print) absl::PrintF("%s\n", text);
    log.push_back(text);
    if (log.size() > 2'000) log.erase(log.begin(), log.begin() + 1'000);
  }
  // A message on its way, or a process at work.
  absl::Duration Short() {
    return random.Chance(20) ? random.Between(absl::Milliseconds(20), absl::Milliseconds(300))
                             : random.Between(absl::Microseconds(100), absl::Milliseconds(3));
  }

  const absl::Time start = absl::FromUnixSeconds(1'700'000'000);
};

}  // namespace muster::sim

#endif  // MUSTER_TESTS_SIM_WORLD_H_
