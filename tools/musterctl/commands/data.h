#ifndef MUSTER_TOOLS_MUSTERCTL_COMMANDS_DATA_H_
#define MUSTER_TOOLS_MUSTERCTL_COMMANDS_DATA_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "tools/musterctl/commands/session.h"
#include "tools/musterctl/exit_code.h"
#include "worker/data/pack.h"

namespace muster::ctl {

struct DataPackOptions {
  // Files, globs and folders.
  std::vector<std::string> inputs;
  // "x" makes x-train.bin and, with a validation part, x-val.bin; "x.bin" without one makes just that file.
  std::string output;
  // `val_output` is set here.
  worker::PackOptions pack;
};
absl::StatusOr<ExitCode> RunDataPack(Session& session, const DataPackOptions& options);

struct DataStatOptions {
  std::string pattern;
  v1::TokenFormat format = v1::AUTO;
};
// Tokens of each file, and the vocabulary they need.
absl::StatusOr<ExitCode> RunDataStat(Session& session, const DataStatOptions& options);

}  // namespace muster::ctl

#endif  // MUSTER_TOOLS_MUSTERCTL_COMMANDS_DATA_H_
