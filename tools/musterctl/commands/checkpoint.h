#ifndef MUSTER_TOOLS_MUSTERCTL_COMMANDS_CHECKPOINT_H_
#define MUSTER_TOOLS_MUSTERCTL_COMMANDS_CHECKPOINT_H_

#include <string>

#include "absl/status/statusor.h"
#include "tools/musterctl/commands/session.h"
#include "tools/musterctl/exit_code.h"

namespace muster::ctl {

struct CheckpointLsOptions {
  // A job's id or name, or a folder: anything with a '/' in it is a folder.
  std::string target;
};
// Of a job: what the coordinator has committed. Of a folder: the checkpoints on disk in it, in the folders below it, or
// the folder itself.
absl::StatusOr<ExitCode> RunCheckpointLs(Session& session, const CheckpointLsOptions& options);

struct CheckpointVerifyOptions {
  // A checkpoint, or a folder with checkpoints.
  std::string dir;
};
// Reads every byte. kFailed when any checkpoint is damaged, each with a line that says where.
absl::StatusOr<ExitCode> RunCheckpointVerify(Session& session, const CheckpointVerifyOptions& options);

}  // namespace muster::ctl

#endif  // MUSTER_TOOLS_MUSTERCTL_COMMANDS_CHECKPOINT_H_
