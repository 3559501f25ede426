#include "coordinator/rpc/listen_address.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace muster::coordinator {

absl::Status CheckListenAddress(const std::string& listen) {
  const size_t colon = listen.rfind(':');
  int port = -1;
  if (colon == std::string::npos || colon == 0 || !absl::SimpleAtoi(listen.substr(colon + 1), &port) || port < 0 ||
      port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("--listen: '", listen, "' is no address; use address:port, for example 0.0.0.0:7070"));
  }
  absl::string_view host = absl::string_view(listen).substr(0, colon);
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");

  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(std::string(host).c_str(), listen.substr(colon + 1).c_str(), &hints, &found);
  if (code != 0) {
    return absl::InvalidArgumentError(absl::StrCat("cannot listen on ", listen, ": ", ::gai_strerror(code)));
  }
  const int fd = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int error = fd < 0 ? errno : 0;
  // As gRPC will: an old connection in TIME_WAIT is no reason to refuse.
  const int on = 1;
  if (fd >= 0) ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (fd >= 0 && (::bind(fd, found->ai_addr, found->ai_addrlen) != 0 || ::listen(fd, 1) != 0)) error = errno;
  if (fd >= 0) ::close(fd);
  ::freeaddrinfo(found);
  if (error == 0) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat("cannot listen on ", listen, ": ", std::strerror(error),
                                             "; stop what uses it, or choose another --listen"));
}

}  // namespace muster::coordinator
