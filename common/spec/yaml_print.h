#ifndef MUSTER_COMMON_SPEC_YAML_PRINT_H_
#define MUSTER_COMMON_SPEC_YAML_PRINT_H_

#include <string>

#include "proto/job.pb.h"

namespace muster {

// The spec as a job spec file; read back with ParseJobSpecYaml it is the same. Fields that are not set are left out.
std::string JobSpecToYaml(const v1::JobSpec& spec);

}  // namespace muster

#endif  // MUSTER_COMMON_SPEC_YAML_PRINT_H_
