#ifndef MUSTER_TESTS_E2E_NETWORK_H_
#define MUSTER_TESTS_E2E_NETWORK_H_

#include <sys/types.h>

#include <map>
#include <string>

namespace muster::e2e {

// Hosts as network namespaces, joined by a bridge in the test's own. Make it before anything else of the test: the
// whole process moves into a namespace of its own, so that nothing of the machine is touched.
class Network {
 public:
  // Empty if it works here; else why not (it takes root, or user namespaces).
  static std::string WhyNot();

  // The test's own end of the bridge.
  std::string gateway() const { return "10.213.0.1"; }
  // The address that Attach gave, or will give, to this host.
  std::string AddressOf(const std::string& host);
  // Plugs a process's namespace into the bridge; again for a process that takes the host's place.
  void Attach(const std::string& host, pid_t pid);
  // Everything from and to the host is silently lost, and not any more.
  void Cut(const std::string& host);
  void Mend(const std::string& host);

 private:
  std::map<std::string, int> numbers_;
  // Of all networks: the link of a host that has gone lives on until the kernel has cleared its namespace away.
  static inline int links_ = 0;
  std::map<std::string, std::string> link_;
};

}  // namespace muster::e2e

#endif  // MUSTER_TESTS_E2E_NETWORK_H_
