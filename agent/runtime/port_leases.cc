#include "agent/runtime/port_leases.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace muster::agent {
namespace {

// A socket bound to `port` of all addresses, IPv6 and IPv4 at once where there is IPv6; -1 if it is taken.
int Bind(int port) {
  int fd = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd >= 0) {
    const int off = 0;
    ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    sockaddr_in6 any = {};
    any.sin6_family = AF_INET6;
    any.sin6_port = htons(port);
    if (::bind(fd, reinterpret_cast<sockaddr*>(&any), sizeof(any)) == 0) return fd;
    const bool no_ipv6 = errno == EADDRNOTAVAIL;
    ::close(fd);
    if (!no_ipv6) return -1;
  }
  fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in any = {};
  any.sin_family = AF_INET;
  any.sin_port = htons(port);
  if (fd >= 0 && ::bind(fd, reinterpret_cast<sockaddr*>(&any), sizeof(any)) == 0) return fd;
  if (fd >= 0) ::close(fd);
  return -1;
}

}  // namespace

PortLeases::~PortLeases() {
  for (const auto& [gang, held] : held_) ::close(held.fd);
}

absl::StatusOr<int> PortLeases::Lease(const GangKey& gang) {
  if (const auto it = held_.find(gang); it != held_.end()) return it->second.port;
  const int count = last_ - first_ + 1;
  const int start = static_cast<int>(random_() % count);
  for (int i = 0; i < count; ++i) {
    const int port = first_ + (start + i) % count;
    const int fd = Bind(port);
    if (fd < 0) continue;
    held_[gang] = {port, fd};
    return port;
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("all ports from ", first_, " to ", last_, " are taken; give the agent another --port_range"));
}

void PortLeases::Release(const GangKey& gang) {
  const auto it = held_.find(gang);
  if (it == held_.end()) return;
  ::close(it->second.fd);
  held_.erase(it);
}

}  // namespace muster::agent
