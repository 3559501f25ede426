#include "tools/musterctl/commands/submit_spec.h"

#include <map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/spec/job_spec.h"
#include "common/spec/yaml_spec.h"
#include "common/status_macros.h"

namespace muster::ctl {
namespace {

absl::Status SetNodes(const std::string& text, v1::NodeRange* nodes) {
  std::vector<std::string> parts = absl::StrSplit(text, ':');
  int32_t min, max;
  if (parts.size() > 2 || !absl::SimpleAtoi(parts.front(), &min) || !absl::SimpleAtoi(parts.back(), &max)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--nodes ", text, ": not a number of nodes; give one such as 4, or a range such as 2:8"));
  }
  nodes->set_min(min);
  nodes->set_max(max);
  return absl::OkStatus();
}

absl::Status ApplyFlags(const SpecOptions& options, v1::JobSpec* spec) {
  if (options.name) spec->set_name(*options.name);
  if (options.nodes) MUSTER_RETURN_IF_ERROR(SetNodes(*options.nodes, spec->mutable_nodes()));
  if (options.slots) spec->set_slots_per_node(*options.slots);
  if (options.device) spec->set_device(*options.device == "gpu" ? v1::GPU : v1::CPU);
  if (options.working_dir) spec->set_working_dir(*options.working_dir);
  if (options.checkpoint_dir) spec->mutable_checkpoint()->set_dir(*options.checkpoint_dir);
  for (const std::string& assignment : options.env) {
    std::vector<std::string> parts = absl::StrSplit(assignment, absl::MaxSplits('=', 1));
    if (parts.size() != 2 || parts[0].empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--env ", assignment, ": not an assignment; give a name and a value, such as --env NAME=value"));
    }
    (*spec->mutable_env())[parts[0]] = parts[1];
  }
  for (const std::string& word : options.command) spec->add_command(word);
  for (const std::string& assignment : options.set) MUSTER_RETURN_IF_ERROR(SetJobSpecField(assignment, spec));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::JobSpec> BuildSpec(FileSystem* files, const SpecOptions& options) {
  ParsedJobSpec parsed;
  if (!options.file.empty()) {
    absl::StatusOr<std::string> text = ReadFile(files, options.file);
    // Whatever the system says, it is the command line that named the file.
    if (!text.ok()) return absl::InvalidArgumentError(text.status().message());
    MUSTER_ASSIGN_OR_RETURN(parsed, ParseJobSpecYaml(*text, options.file));
    if (!options.command.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("-- ", options.command[0], ": ", options.file,
                                                     " says already what to run; remove the command or the file"));
    }
  } else if (options.command.empty() && options.set.empty()) {
    return absl::InvalidArgumentError(
        "submit: nothing to run; give a FILE.yaml, or a command after --, such as: musterctl submit --name hello -- "
        "echo hi");
  }
  MUSTER_RETURN_IF_ERROR(ApplyFlags(options, &parsed.spec));
  ApplyDefaults(&parsed.spec);
  absl::Status valid = Validate(parsed.spec);
  if (!valid.ok()) return WithPlace(valid, parsed.places);
  return parsed.spec;
}

}  // namespace muster::ctl
