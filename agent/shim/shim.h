#ifndef MUSTER_AGENT_SHIM_SHIM_H_
#define MUSTER_AGENT_SHIM_SHIM_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"

namespace muster::shim {

struct ShimOptions {
  // The worker's folder, there already; records.h names what is written in it.
  std::string dir;
  // The worker's working folder.
  std::string working_dir;
  // The worker is killed when no agent has been connected for this long.
  absl::Duration orphan_after = absl::Seconds(30);
  // Run with the shim's own environment, found on its PATH.
  std::vector<std::string> command;
  // A listening SOCK_SEQPACKET socket, the agent's way in.
  int listener = -1;
};

// Starts the worker and holds it until it has ended, nothing of it is left and its output is on file. Call it once, in
// a process that has one thread and nothing else to do: it makes itself a session, the subreaper of all that the
// worker leaves behind, and takes over SIGCHLD. SIGTERM and SIGINT are passed on to the worker.
//
// OK also when the worker could not be started: that is in the exit record. An error: the shim itself could not work,
// and no worker is left running.
absl::Status RunShim(const ShimOptions& options, Clock* clock);

}  // namespace muster::shim

#endif  // MUSTER_AGENT_SHIM_SHIM_H_
