#ifndef MUSTER_AGENT_RUNTIME_HOST_SHARE_H_
#define MUSTER_AGENT_RUNTIME_HOST_SHARE_H_

#include <string>

namespace muster::agent {

// How many workers share this machine, over all agents on it. Each agent keeps a file with its number in one folder
// (/dev/shm/muster-agents), locked while it lives; a file that nobody has locked is left over and is removed. Agents
// that do not see each other's /dev/shm (containers) count for themselves. Not thread-safe.
class HostShare {
 public:
  // `name`: unique on this machine.
  HostShare(const std::string& folder, const std::string& name);
  ~HostShare();
  HostShare(const HostShare&) = delete;
  HostShare& operator=(const HostShare&) = delete;

  // Workers this agent runs, or is about to.
  void Set(int workers);
  // Of all agents.
  int Total() const;

 private:
  const std::string folder_;
  const std::string name_;
  // -1: the folder cannot be written; then only the own workers count.
  int fd_ = -1;
  int own_ = 0;
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_RUNTIME_HOST_SHARE_H_
