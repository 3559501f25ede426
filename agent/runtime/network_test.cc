#include "agent/runtime/network.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace muster::agent {
namespace {

TEST(ParseHostPort, Forms) {
  EXPECT_EQ(ParseHostPort("host:80").value().host, "host");
  EXPECT_EQ(ParseHostPort("host:80").value().port, 80);
  EXPECT_EQ(ParseHostPort("[::1]:80").value().host, "::1");
  for (const char* bad : {"", "host", "host:", ":80", "host:0", "host:65536", "host:x", "::1:80"}) {
    EXPECT_FALSE(ParseHostPort(bad).ok()) << bad;
  }
}

TEST(LocalAddressTowards, Loopback_IsLoopback) {
  EXPECT_EQ(LocalAddressTowards({"127.0.0.1", 80}).value(), "127.0.0.1");
  EXPECT_EQ(LocalAddressTowards({"no.such.host.invalid", 80}).status().code(), absl::StatusCode::kNotFound);
}

TEST(ProbeTcp, NobodyListens_IsRefused_SomebodyListens_IsOk) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  socklen_t size = sizeof(address);
  ASSERT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const HostPort target{"127.0.0.1", ntohs(address.sin_port)};
  // Bound, not listening.
  EXPECT_EQ(ProbeTcp(target, absl::Seconds(10)).code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_EQ(::listen(fd, 1), 0);
  EXPECT_TRUE(ProbeTcp(target, absl::Seconds(10)).ok());
  ::close(fd);
}

TEST(IsIpAddress, LiteralsOnly) {
  EXPECT_TRUE(IsIpAddress("10.0.0.1"));
  EXPECT_TRUE(IsIpAddress("fe80::1"));
  EXPECT_FALSE(IsIpAddress("localhost"));
  EXPECT_FALSE(IsIpAddress("10.0.0.1:80"));
}

}  // namespace
}  // namespace muster::agent
