#include "coordinator/core/registration.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/ip_address.h"
#include "common/version.h"

namespace muster::coordinator {
namespace {

constexpr size_t kMaxNodeIdLength = 253;

bool IsNodeId(const std::string& id) {
  return !id.empty() && id.size() <= kMaxNodeIdLength && std::all_of(id.begin(), id.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
  });
}

absl::Status CheckSlots(const v1::Register& registration) {
  if (registration.slots().empty()) {
    return absl::InvalidArgumentError("slots: there is none; give the agent at least one CPU slot or GPU");
  }
  std::set<int> indices;
  for (const v1::Slot& slot : registration.slots()) {
    if (slot.device() != v1::CPU && slot.device() != v1::GPU) {
      return absl::InvalidArgumentError(absl::StrCat("slots: slot ", slot.index(), " is neither a CPU slot nor a GPU"));
    }
    // Workers name a slot by its index alone.
    if (slot.index() < 0 || !indices.insert(slot.index()).second) {
      return absl::InvalidArgumentError(absl::StrCat("slots: index ", slot.index(), " is negative or there twice"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckRegistration(const v1::Register& registration) {
  if (registration.protocol() != kProtocolVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("the agent of node ", registration.node_id(), " (version ", registration.version(),
                     ") speaks protocol ", registration.protocol(), ", the coordinator (version ", kVersion,
                     ") protocol ", kProtocolVersion, "; install the same release on both"));
  }
  if (!IsNodeId(registration.node_id())) {
    return absl::InvalidArgumentError(
        absl::StrCat("node id '", registration.node_id(), "' is not 1 to 253 of [A-Za-z0-9._-]; give another one"));
  }
  if (registration.agent_uid().empty() || registration.incarnation().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("node ", registration.node_id(), ": agent_uid and incarnation must be set"));
  }
  if (!IsIpAddress(registration.address())) {
    return absl::InvalidArgumentError(absl::StrCat("node ", registration.node_id(), ": address '",
                                                   registration.address(),
                                                   "' is no IPv4 or IPv6 address; give the one other nodes reach"));
  }
  return CheckSlots(registration);
}

}  // namespace muster::coordinator
