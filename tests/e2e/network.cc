#include "tests/e2e/network.h"

#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace muster::e2e {
namespace {

void Run(const std::string& command) {
  // The test's PATH may lack /sbin, where Debian keeps ip.
  const int status = std::system(("PATH=$PATH:/usr/sbin:/sbin; " + command).c_str());
  EXPECT_EQ(status, 0) << command;
}

bool Works(const std::string& command) {
  return std::system(("PATH=$PATH:/usr/sbin:/sbin; " + command + " >/dev/null 2>&1").c_str()) == 0;
}

}  // namespace

std::string Network::WhyNot() {
  static const std::string why = []() -> std::string {
    if (::geteuid() != 0) return "network namespaces take root";
    if (::unshare(CLONE_NEWNET) != 0) return absl::StrCat("no network namespaces here: ", std::strerror(errno));
    if (!Works("ip link set lo up")) return "no `ip` that works here; it comes with iproute2";
    if (!Works("ip link add muster0 type bridge && ip addr add 10.213.0.1/24 dev muster0 && ip link set muster0 up")) {
      return "no bridges here";
    }
    return "";
  }();
  return why;
}

std::string Network::AddressOf(const std::string& host) {
  const int number = numbers_.emplace(host, static_cast<int>(numbers_.size()) + 10).first->second;
  return absl::StrCat("10.213.0.", number);
}

void Network::Attach(const std::string& host, pid_t pid) {
  const std::string address = AddressOf(host);
  const std::string link = absl::StrCat("muster-h", ++links_);
  if (!link_[host].empty()) Works("ip link del " + link_[host]);
  link_[host] = link;
  const std::string inside = absl::StrCat("nsenter -t ", pid, " -n ip ");
  Run(absl::StrCat("ip link add ", link, " type veth peer name eth0 netns ", pid));
  Run(absl::StrCat("ip link set ", link, " master muster0 up"));
  Run(inside + "link set lo up");
  Run(absl::StrCat(inside, "addr add ", address, "/24 dev eth0"));
  Run(inside + "link set eth0 up");
}

// Off the bridge, and not down: down would be seen at once by the other end.
void Network::Cut(const std::string& host) { Run(absl::StrCat("ip link set ", link_[host], " nomaster")); }

void Network::Mend(const std::string& host) { Run(absl::StrCat("ip link set ", link_[host], " master muster0")); }

}  // namespace muster::e2e
