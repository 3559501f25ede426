#ifndef MUSTER_COMMON_SPEC_VALIDATE_INTERNAL_H_
#define MUSTER_COMMON_SPEC_VALIDATE_INTERNAL_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "proto/job.pb.h"

// Shared by the parts of Validate; nobody else's.
namespace muster::spec_internal {

// INVALID_ARGUMENT "<path>: <what>; <remedy>".
inline absl::Status Wrong(absl::string_view path, absl::string_view what, absl::string_view remedy) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", what, "; ", remedy));
}

// "<path>: <value>; <remedy>" unless low <= value <= high.
absl::Status CheckRange(absl::string_view path, int64_t value, int64_t low, int64_t high, absl::string_view remedy);

// A path (or glob) that is set must be absolute and free of NUL bytes.
absl::Status CheckPath(absl::string_view path, const std::string& value);

// nodes and slots_per_node have been found valid.
absl::Status ValidateTrain(const v1::TrainSpec& train, const v1::NodeRange& nodes, int32_t slots_per_node);

}  // namespace muster::spec_internal

#endif  // MUSTER_COMMON_SPEC_VALIDATE_INTERNAL_H_
