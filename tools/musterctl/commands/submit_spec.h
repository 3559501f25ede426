#ifndef MUSTER_TOOLS_MUSTERCTL_COMMANDS_SUBMIT_SPEC_H_
#define MUSTER_TOOLS_MUSTERCTL_COMMANDS_SUBMIT_SPEC_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/file_system.h"
#include "proto/job.pb.h"

namespace muster::ctl {

// What the command line of `submit` says of a job.
struct SpecOptions {
  // Empty: the flags alone make the job.
  std::string file;
  std::optional<std::string> name;
  // "N" or "MIN:MAX".
  std::optional<std::string> nodes;
  std::optional<int32_t> slots;
  std::optional<std::string> device;
  std::optional<std::string> working_dir;
  std::optional<std::string> checkpoint_dir;
  // "NAME=value".
  std::vector<std::string> env;
  // "path=value", in order, after all other flags.
  std::vector<std::string> set;
  // After "--".
  std::vector<std::string> command;
};

// The whole spec, with defaults and valid: the file's, then what the flags change. INVALID_ARGUMENT: one line that
// names the field or flag, and the place in the file; also for a file that cannot be read.
absl::StatusOr<v1::JobSpec> BuildSpec(FileSystem* files, const SpecOptions& options);

}  // namespace muster::ctl

#endif  // MUSTER_TOOLS_MUSTERCTL_COMMANDS_SUBMIT_SPEC_H_
