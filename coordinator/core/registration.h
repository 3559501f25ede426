#ifndef MUSTER_COORDINATOR_CORE_REGISTRATION_H_
#define MUSTER_COORDINATOR_CORE_REGISTRATION_H_

#include "absl/status/status.h"
#include "proto/agent.pb.h"

namespace muster::coordinator {

// FAILED_PRECONDITION: another protocol version; INVALID_ARGUMENT: a field that cannot be. Looks at no state.
absl::Status CheckRegistration(const v1::Register& registration);

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_CORE_REGISTRATION_H_
