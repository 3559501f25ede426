#include "agent/runtime/host_share.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/log.h"

namespace muster::agent {

HostShare::HostShare(const std::string& folder, const std::string& name) : folder_(folder), name_(name) {
  // For agents of all users, as /tmp is.
  if (::mkdir(folder.c_str(), 0777) == 0) ::chmod(folder.c_str(), 01777);
  const std::string path = absl::StrCat(folder, "/", name);
  fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd_ < 0 || ::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    LogWarning("cannot lock %s: %s; workers of other agents on this machine are not counted when cores are shared",
               path, std::strerror(errno));
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
}

HostShare::~HostShare() {
  if (fd_ < 0) return;
  ::unlink(absl::StrCat(folder_, "/", name_).c_str());
  ::close(fd_);
}

void HostShare::Set(int workers) {
  own_ = workers;
  if (fd_ < 0) return;
  // Of fixed width: a reader sees the old number or the new one.
  const std::string text = absl::StrCat(absl::Dec(workers, absl::kZeroPad8), "\n");
  if (::pwrite(fd_, text.data(), text.size(), 0) < 0)
    LogWarning("cannot write in %s: %s", folder_, std::strerror(errno));
}

int HostShare::Total() const {
  int total = own_;
  DIR* dir = fd_ < 0 ? nullptr : ::opendir(folder_.c_str());
  if (dir == nullptr) return std::max(1, total);
  while (const dirent* entry = ::readdir(dir)) {
    if (entry->d_name[0] == '.' || name_ == entry->d_name) continue;
    const std::string path = absl::StrCat(folder_, "/", entry->d_name);
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) continue;
    char text[16] = {};
    int workers = 0;
    if (::flock(fd, LOCK_SH | LOCK_NB) == 0) {
      ::unlink(path.c_str());  // its agent is gone
    } else if (::pread(fd, text, 8, 0) == 8 && absl::SimpleAtoi(text, &workers)) {
      total += std::max(0, workers);
    }
    ::close(fd);
  }
  ::closedir(dir);
  return std::max(1, total);
}

}  // namespace muster::agent
