#include "agent/runtime/port_leases.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace muster::agent {
namespace {

GangKey Gang(const std::string& job) { return {JobId(job), Generation(1)}; }

class Listener {
 public:
  // 0: any free port.
  explicit Listener(int port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    bound_ = ::bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0 && ::listen(fd_, 1) == 0;
    socklen_t size = sizeof(address);
    ::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
  }
  ~Listener() { ::close(fd_); }
  bool bound() const { return bound_; }
  int port() const { return port_; }

 private:
  int fd_;
  bool bound_ = false;
  int port_ = 0;
};

TEST(PortLeases, TwoGangs_GetDifferentPortsAndKeepThem) {
  PortLeases leases(20000, 29999, 1);
  const int a = leases.Lease(Gang("a")).value();
  const int b = leases.Lease(Gang("b")).value();
  EXPECT_NE(a, b);
  EXPECT_EQ(leases.Lease(Gang("a")).value(), a);
}

TEST(PortLeases, Leased_NobodyElseGetsItUntilReleased) {
  PortLeases leases(20000, 29999, 2);
  const int port = leases.Lease(Gang("a")).value();
  EXPECT_FALSE(Listener(port).bound());
  leases.Release(Gang("a"));
  EXPECT_TRUE(Listener(port).bound());
}

TEST(PortLeases, PortTakenByAnother_IsSkipped) {
  const Listener taken(0);
  ASSERT_TRUE(taken.bound());
  PortLeases only(taken.port(), taken.port(), 3);
  EXPECT_EQ(only.Lease(Gang("a")).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(PortLeases, SameRangeTwoAgents_NeverTheSamePort) {
  PortLeases a(20000, 29999, 7), b(20000, 29999, 7);
  EXPECT_NE(a.Lease(Gang("a")).value(), b.Lease(Gang("a")).value());
}

}  // namespace
}  // namespace muster::agent
