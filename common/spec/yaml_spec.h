#ifndef MUSTER_COMMON_SPEC_YAML_SPEC_H_
#define MUSTER_COMMON_SPEC_YAML_SPEC_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/job.pb.h"

namespace muster {

struct ParsedJobSpec {
  // Without defaults, not validated.
  v1::JobSpec spec;
  // "<source>:<line>:<column>" by field path, of each field that the text gives.
  std::map<std::string, std::string> places;
};

// A job spec file (docs/job_spec.md). INVALID_ARGUMENT is one line, "<source>:<line>:<column>: <field path>: <what is
// wrong>; <what to do>": no YAML, an unknown field (with the one that was meant), a wrong type, a number out of range,
// a field given twice. `source` is the file's name for messages.
absl::StatusOr<ParsedJobSpec> ParseJobSpecYaml(absl::string_view text, const std::string& source);

// One field by its path: "train.batch.global=64", "nodes.min=2", "env.NAME=value", "command=[a, b]". The value is YAML.
// INVALID_ARGUMENT begins with "--set <assignment>: ".
absl::Status SetJobSpecField(absl::string_view assignment, v1::JobSpec* spec);

// A message of Validate with the place in the file of the field it begins with, or of the nearest one around it.
absl::Status WithPlace(const absl::Status& status, const std::map<std::string, std::string>& places);

}  // namespace muster

#endif  // MUSTER_COMMON_SPEC_YAML_SPEC_H_
