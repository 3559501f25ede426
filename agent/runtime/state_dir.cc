#include "agent/runtime/state_dir.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/file_system.h"
#include "common/random_id.h"
#include "common/status_macros.h"

namespace muster::agent {

absl::StatusOr<StateDir> StateDir::Open(const std::string& path) {
  FileSystem* const fs = FileSystem::Posix();
  MUSTER_RETURN_IF_ERROR(fs->CreateDirs(path));
  // Absolute: workers reach the socket from their own folders.
  const std::unique_ptr<char, decltype(&::free)> resolved(::realpath(path.c_str(), nullptr), &::free);
  if (resolved == nullptr) {
    return absl::InternalError(absl::StrCat("state_dir: cannot resolve ", path, ": ", std::strerror(errno)));
  }
  const std::string dir = resolved.get();
  const size_t longest = sizeof(sockaddr_un::sun_path) - 1 - sizeof("/agent.sock") + 1;
  if (dir.size() > longest) {
    return absl::InvalidArgumentError(absl::StrCat("state_dir: ", dir, " is ", dir.size(),
                                                   " bytes long, a socket in it allows ", longest,
                                                   "; choose a shorter path"));
  }
  const std::string lock_path = absl::StrCat(dir, "/lock");
  const int lock = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (lock < 0) {
    return absl::PermissionDeniedError(absl::StrCat("state_dir: cannot open ", lock_path, ": ", std::strerror(errno),
                                                    "; the agent must own this folder"));
  }
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock);
    return absl::FailedPreconditionError(
        absl::StrCat("state_dir: another muster-agent runs on ", dir, "; give each agent a folder of its own"));
  }
  StateDir locked(dir, lock, "");  // lets go on an error
  const std::string uid_path = absl::StrCat(dir, "/agent_uid");
  absl::StatusOr<std::string> uid = ReadFile(fs, uid_path);
  if (absl::IsNotFound(uid.status())) {
    uid = RandomId();
    MUSTER_RETURN_IF_ERROR(WriteFileAtomically(fs, uid_path, absl::StrCat(*uid, "\n")));
  }
  MUSTER_RETURN_IF_ERROR(uid.status());
  MUSTER_RETURN_IF_ERROR(fs->CreateDirs(absl::StrCat(dir, "/workers")));
  locked.lock_ = -1;
  return StateDir(dir, lock, std::string(absl::StripSuffix(*uid, "\n")));
}

StateDir::StateDir(std::string path, int lock, std::string agent_uid)
    : path_(std::move(path)), lock_(lock), agent_uid_(std::move(agent_uid)) {}

StateDir::StateDir(StateDir&& other) noexcept
    : path_(other.path_), lock_(std::exchange(other.lock_, -1)), agent_uid_(other.agent_uid_) {}

StateDir::~StateDir() {
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace muster::agent
