#ifndef MUSTER_TOOLS_MUSTERCTL_FLAGS_BUILDER_H_
#define MUSTER_TOOLS_MUSTERCTL_FLAGS_BUILDER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/time/time.h"
#include "tools/musterctl/flags/flags.h"

namespace muster::ctl {

// What the parts of ParseFlags share.
struct FlagsBuilder {
  CLI::App& app;
  Invocation& invocation;
  // What follows "--".
  const std::vector<std::string>& command;

  // A command below `parent`; `examples` end its help. Its options are made once and live as long as the invocation.
  CLI::App* Add(CLI::App* parent, const std::string& name, const std::string& about, const std::string& examples) {
    CLI::App* sub = parent->add_subcommand(name, about);
    sub->fallthrough();
    if (!examples.empty()) sub->footer("Examples:\n" + examples);
    return sub;
  }

  template <typename Options>
  void Run(CLI::App* sub, std::shared_ptr<Options> options, absl::StatusOr<ExitCode> (*run)(Session&, const Options&)) {
    Invocation* target = &invocation;
    sub->callback([=] { target->run = [=](Session& session) { return run(session, *options); }; });
  }
};

// "10s", "2m", "500ms"; a bare number is seconds. Not negative.
bool ParseDurationFlag(const std::string& text, absl::Duration* duration);
CLI::Option* AddDuration(CLI::App* app, const std::string& name, absl::Duration* duration, const std::string& about);

// submit, watch, wait, logs, plot.
void AddJobCommands(FlagsBuilder& builder);
// list, describe, cancel, nodes, cluster.
void AddQueryCommands(FlagsBuilder& builder);
// checkpoint, data, version.
void AddDiskCommands(FlagsBuilder& builder);

}  // namespace muster::ctl

#endif  // MUSTER_TOOLS_MUSTERCTL_FLAGS_BUILDER_H_
