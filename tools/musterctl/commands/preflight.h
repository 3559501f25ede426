#ifndef MUSTER_TOOLS_MUSTERCTL_COMMANDS_PREFLIGHT_H_
#define MUSTER_TOOLS_MUSTERCTL_COMMANDS_PREFLIGHT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/job.pb.h"

namespace muster::ctl {

// Looks at the token files of a train job as far as this machine sees them: header, length, and that tokens lie within
// the vocabulary (all of small data sets, a spread of samples of large ones). Returns warnings, each one line: files
// that are not here, but may well be on the nodes. INVALID_ARGUMENT: files that are here and wrong.
absl::StatusOr<std::vector<std::string>> Preflight(const v1::JobSpec& spec);

}  // namespace muster::ctl

#endif  // MUSTER_TOOLS_MUSTERCTL_COMMANDS_PREFLIGHT_H_
