#include "common/ip_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

namespace muster {

bool IsIpAddress(const std::string& text) {
  unsigned char bytes[sizeof(in6_addr)];
  return inet_pton(AF_INET, text.c_str(), bytes) == 1 || inet_pton(AF_INET6, text.c_str(), bytes) == 1;
}

}  // namespace muster
