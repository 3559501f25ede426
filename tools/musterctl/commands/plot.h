#ifndef MUSTER_TOOLS_MUSTERCTL_COMMANDS_PLOT_H_
#define MUSTER_TOOLS_MUSTERCTL_COMMANDS_PLOT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "tools/musterctl/commands/session.h"
#include "tools/musterctl/exit_code.h"

namespace muster::ctl {

struct PlotOptions {
  std::string job;
  // An SVG file; empty: the terminal.
  std::string output;
  // The recovery that began this generation, and not the loss.
  std::optional<uint64_t> timeline;
};
// NOT_FOUND also when there is nothing to draw yet.
absl::StatusOr<ExitCode> RunPlot(Session& session, const PlotOptions& options);

}  // namespace muster::ctl

#endif  // MUSTER_TOOLS_MUSTERCTL_COMMANDS_PLOT_H_
