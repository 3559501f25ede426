#ifndef MUSTER_AGENT_RUNTIME_STATE_DIR_H_
#define MUSTER_AGENT_RUNTIME_STATE_DIR_H_

#include <string>

#include "absl/status/statusor.h"

namespace muster::agent {

// An agent's folder, held by one agent at a time:
//   lock        locked while an agent runs on it
//   agent_uid   random, made once
//   agent.sock  the worker service
//   workers/    agent/runtime/worker_folder.h
class StateDir {
 public:
  // Makes what is missing. INVALID_ARGUMENT: the path is too long for the sockets in it. FAILED_PRECONDITION: another
  // agent holds it. Else the file system's error.
  static absl::StatusOr<StateDir> Open(const std::string& path);
  StateDir(StateDir&& other) noexcept;
  StateDir& operator=(StateDir&&) = delete;
  ~StateDir();

  const std::string& path() const { return path_; }
  const std::string& agent_uid() const { return agent_uid_; }
  std::string workers() const { return path_ + "/workers"; }
  std::string socket() const { return path_ + "/agent.sock"; }

 private:
  StateDir(std::string path, int lock, std::string agent_uid);

  const std::string path_;
  int lock_ = -1;
  const std::string agent_uid_;
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_RUNTIME_STATE_DIR_H_
