#include "agent/runtime/network.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace muster::agent {
namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

absl::StatusOr<Addresses> Resolve(const HostPort& target, int type) {
  addrinfo hints = {};
  hints.ai_socktype = type;
  addrinfo* found = nullptr;
  const int rc = ::getaddrinfo(target.host.c_str(), absl::StrCat(target.port).c_str(), &hints, &found);
  if (rc != 0) return absl::NotFoundError(absl::StrCat("cannot resolve '", target.host, "': ", ::gai_strerror(rc)));
  return Addresses(found, &::freeaddrinfo);
}

// The errno of connecting to one address; 0: connected.
int Connect(const addrinfo& address, absl::Duration timeout) {
  const int fd = ::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return errno;
  int error = ::connect(fd, address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    pollfd wait = {fd, POLLOUT, 0};
    socklen_t size = sizeof(error);
    if (::poll(&wait, 1, static_cast<int>(absl::ToInt64Milliseconds(timeout))) <= 0) {
      error = ETIMEDOUT;
    } else {
      ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    }
  }
  ::close(fd);
  return error;
}

}  // namespace

absl::StatusOr<HostPort> ParseHostPort(const std::string& text) {
  const size_t colon = text.rfind(':');
  HostPort out;
  if (colon == std::string::npos || colon == 0 || !absl::SimpleAtoi(text.substr(colon + 1), &out.port) ||
      out.port < 1 || out.port > 65535) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not HOST:PORT with a port from 1 to 65535"));
  }
  out.host = text.substr(0, colon);
  if (out.host.size() > 2 && out.host.front() == '[' && out.host.back() == ']') {
    out.host = out.host.substr(1, out.host.size() - 2);
  } else if (out.host.find(':') != std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "': write an IPv6 address in brackets, [ADDRESS]:PORT"));
  }
  return out;
}

absl::StatusOr<std::string> LocalAddressTowards(const HostPort& target) {
  MUSTER_ASSIGN_OR_RETURN(const Addresses addresses, Resolve(target, SOCK_DGRAM));
  int error = 0;
  for (const addrinfo* a = addresses.get(); a != nullptr; a = a->ai_next) {
    // Connecting a datagram socket sends nothing; it looks up the route.
    const int fd = ::socket(a->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_storage local = {};
    socklen_t size = sizeof(local);
    const bool found = fd >= 0 && ::connect(fd, a->ai_addr, a->ai_addrlen) == 0 &&
                       ::getsockname(fd, reinterpret_cast<sockaddr*>(&local), &size) == 0;
    error = errno;
    if (fd >= 0) ::close(fd);
    if (!found) continue;
    char text[NI_MAXHOST];
    if (::getnameinfo(reinterpret_cast<sockaddr*>(&local), size, text, sizeof(text), nullptr, 0, NI_NUMERICHOST) == 0) {
      return std::string(text);
    }
  }
  return absl::NotFoundError(absl::StrCat("no route to ", target.host, ": ", std::strerror(error)));
}

absl::Status ProbeTcp(const HostPort& target, absl::Duration timeout) {
  const absl::StatusOr<Addresses> addresses = Resolve(target, SOCK_STREAM);
  if (!addresses.ok()) return absl::UnavailableError(addresses.status().message());
  int refused = 0, other = 0;
  for (const addrinfo* a = addresses->get(); a != nullptr; a = a->ai_next) {
    const int error = Connect(*a, timeout);
    if (error == 0) return absl::OkStatus();
    (error == ECONNREFUSED ? refused : other) = error;
  }
  if (refused != 0 && other == 0) return absl::FailedPreconditionError("connection refused");
  return absl::UnavailableError(std::strerror(other));
}

bool IsIpAddress(const std::string& address) {
  unsigned char buffer[sizeof(in6_addr)];
  return ::inet_pton(AF_INET, address.c_str(), buffer) == 1 || ::inet_pton(AF_INET6, address.c_str(), buffer) == 1;
}

}  // namespace muster::agent
