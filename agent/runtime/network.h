#ifndef MUSTER_AGENT_RUNTIME_NETWORK_H_
#define MUSTER_AGENT_RUNTIME_NETWORK_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace muster::agent {

struct HostPort {
  std::string host;
  int port = 0;
};

// "host:port", "1.2.3.4:port" or "[v6]:port". INVALID_ARGUMENT otherwise.
absl::StatusOr<HostPort> ParseHostPort(const std::string& text);

// This machine's address on the way to `target`: where the nodes that reach the coordinator reach it, too. From the
// kernel's routes, never from the host name. NOT_FOUND: the name does not resolve, or there is no route.
absl::StatusOr<std::string> LocalAddressTowards(const HostPort& target);

// Connects by TCP and hangs up. OK; FAILED_PRECONDITION: every address of it actively refuses (the host is up, nobody
// listens); UNAVAILABLE: anything else.
absl::Status ProbeTcp(const HostPort& target, absl::Duration timeout);

// Whether `address` is a literal IPv4 or IPv6 address.
bool IsIpAddress(const std::string& address);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_RUNTIME_NETWORK_H_
