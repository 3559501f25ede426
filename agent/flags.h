#ifndef MUSTER_AGENT_FLAGS_H_
#define MUSTER_AGENT_FLAGS_H_

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "agent/runtime/network.h"

namespace muster::agent {

struct Flags {
  HostPort coordinator;
  std::string node_id;
  // Empty: found from the route to the coordinator.
  std::string address;
  std::string state_dir;
  int cpu_slots = 1;
  // "auto" or "none".
  std::string gpus = "auto";
  std::string worker;
  std::string shim;
  absl::Duration orphan_after = absl::Seconds(30);
  int first_port = 20000;
  int last_port = 29999;
  bool keep_workers_on_exit = false;
};

// Parses and checks the command line. Nothing: `exit_code` is what main returns; help, version or the one line of an
// error has been printed.
std::optional<Flags> ParseFlags(int argc, char** argv, int* exit_code);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_FLAGS_H_
