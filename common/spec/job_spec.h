#ifndef MUSTER_COMMON_SPEC_JOB_SPEC_H_
#define MUSTER_COMMON_SPEC_JOB_SPEC_H_

#include "absl/status/status.h"
#include "proto/job.pb.h"

namespace muster {

// Writes every default of proto/job.proto into fields that are not set. Applied twice it changes nothing more.
void ApplyDefaults(v1::JobSpec* spec);

// Of a spec with its defaults. INVALID_ARGUMENT: "<field path>: <what is wrong>; <what to do>", the first in the order
// of the fields. Looks at no file.
absl::Status Validate(const v1::JobSpec& spec);

}  // namespace muster

#endif  // MUSTER_COMMON_SPEC_JOB_SPEC_H_
