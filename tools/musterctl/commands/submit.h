#ifndef MUSTER_TOOLS_MUSTERCTL_COMMANDS_SUBMIT_H_
#define MUSTER_TOOLS_MUSTERCTL_COMMANDS_SUBMIT_H_

#include "absl/status/statusor.h"
#include "tools/musterctl/commands/session.h"
#include "tools/musterctl/commands/submit_spec.h"
#include "tools/musterctl/exit_code.h"

namespace muster::ctl {

struct SubmitOptions {
  SpecOptions spec;
  // Print the whole spec and send nothing.
  bool dry_run = false;
  // Do not look at data files.
  bool skip_preflight = false;
};

// Nothing is sent before spec and data have been found good.
absl::StatusOr<ExitCode> RunSubmit(Session& session, const SubmitOptions& options);

}  // namespace muster::ctl

#endif  // MUSTER_TOOLS_MUSTERCTL_COMMANDS_SUBMIT_H_
