#include "agent/runtime/spawn_shim.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "agent/shim/records.h"
#include "common/status_macros.h"

namespace muster::agent {
namespace {

absl::Status SystemError(absl::string_view what, int error) {
  return absl::Status(
      error == ENOENT || error == ECONNREFUSED ? absl::StatusCode::kNotFound : absl::StatusCode::kInternal,
      absl::StrCat("cannot ", what, ": ", std::strerror(error)));
}

// A socket's path may have 107 bytes; a folder reached through its descriptor has a short one.
class ShortPath {
 public:
  static absl::StatusOr<ShortPath> Of(const std::string& folder) {
    const int fd = ::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return SystemError(absl::StrCat("open ", folder), errno);
    return ShortPath(fd);
  }
  ShortPath(ShortPath&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ShortPath& operator=(ShortPath&&) = delete;
  ~ShortPath() {
    if (fd_ >= 0) ::close(fd_);
  }

  sockaddr_un Address() const {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    const std::string path = absl::StrCat("/proc/self/fd/", fd_, "/", shim::kSocketName);
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    return address;
  }

 private:
  explicit ShortPath(int fd) : fd_(fd) {}
  int fd_;
};

std::vector<char*> Pointers(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

absl::StatusOr<int> Listen(const std::string& folder) {
  MUSTER_ASSIGN_OR_RETURN(const ShortPath path, ShortPath::Of(folder));
  const sockaddr_un address = path.Address();
  const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd < 0) return SystemError("make a socket", errno);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 || ::listen(fd, 16) != 0) {
    const int error = errno;
    ::close(fd);
    return SystemError(absl::StrCat("listen in ", folder), error);
  }
  return fd;
}

}  // namespace

absl::StatusOr<int> ConnectShim(const std::string& folder) {
  MUSTER_ASSIGN_OR_RETURN(const ShortPath path, ShortPath::Of(folder));
  const sockaddr_un address = path.Address();
  const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return SystemError("make a socket", errno);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return fd;
  const int error = errno;
  ::close(fd);
  return SystemError(absl::StrCat("connect to the shim in ", folder), error);
}

absl::StatusOr<int> SpawnShim(const ShimStart& start) {
  MUSTER_ASSIGN_OR_RETURN(const int listener, Listen(start.folder));
  const std::string log = absl::StrCat(start.folder, "/", shim::kShimLogName);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  // glibc: also clears close-on-exec where both are the same descriptor.
  posix_spawn_file_actions_adddup2(&files, listener, shim::kListenerFd);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);

  std::vector<std::string> argv = {start.program,
                                   "--dir",
                                   start.folder,
                                   "--working_dir",
                                   start.working_dir,
                                   "--orphan_after",
                                   absl::FormatDuration(start.orphan_after),
                                   "--"};
  argv.insert(argv.end(), start.command.begin(), start.command.end());
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, start.program.c_str(), &files, &attributes, Pointers(argv).data(),
                                  Pointers(start.environment).data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  ::close(listener);
  if (error != 0) return absl::InternalError(absl::StrCat("cannot start ", start.program, ": ", std::strerror(error)));
  return ConnectShim(start.folder);
}

std::vector<std::string> MergedEnvironment(const std::map<std::string, std::string>& set,
                                           const std::map<std::string, std::string>& defaults) {
  std::map<std::string, std::string> merged = defaults;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string::npos) merged[text.substr(0, equals)] = text.substr(equals + 1);
  }
  for (const auto& [name, value] : set) merged[name] = value;
  std::vector<std::string> out;
  for (const auto& [name, value] : merged) out.push_back(absl::StrCat(name, "=", value));
  return out;
}

}  // namespace muster::agent
