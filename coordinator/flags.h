#ifndef MUSTER_COORDINATOR_FLAGS_H_
#define MUSTER_COORDINATOR_FLAGS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace muster::coordinator {

// The command line of muster-coordinator.
struct Flags {
  std::string listen = "0.0.0.0:7070";
  std::string data_dir;
  std::string port_file;
  absl::Duration lease = absl::Seconds(3);
  absl::Duration heartbeat = absl::Milliseconds(500);
  absl::Duration gather_window = absl::Milliseconds(500);
  absl::Duration diagnose_window = absl::Milliseconds(500);
  int64_t log_limit_mb = 64;

  // Not empty: to be printed, and that is all (--help, --version).
  std::string print;
};

// INVALID_ARGUMENT: one line that names the flag and the remedy.
absl::StatusOr<Flags> ParseFlags(int argc, const char* const* argv);

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_FLAGS_H_
