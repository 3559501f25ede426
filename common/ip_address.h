#ifndef MUSTER_COMMON_IP_ADDRESS_H_
#define MUSTER_COMMON_IP_ADDRESS_H_

#include <string>

namespace muster {

// Whether `text` is an IPv4 or IPv6 address as such ("10.0.0.1", "fe80::1"): no host name, which somebody would have to
// look up, no port, no brackets.
bool IsIpAddress(const std::string& text);

}  // namespace muster

#endif  // MUSTER_COMMON_IP_ADDRESS_H_
