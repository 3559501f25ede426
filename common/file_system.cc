#include "common/file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace muster {
namespace {

absl::Status ErrnoStatus(absl::string_view operation, absl::string_view path, int error) {
  absl::StatusCode code = absl::StatusCode::kInternal;
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      code = absl::StatusCode::kNotFound;
      break;
    case EACCES:
    case EPERM:
    case EROFS:
      code = absl::StatusCode::kPermissionDenied;
      break;
    case ENOSPC:
    case EDQUOT:
      code = absl::StatusCode::kResourceExhausted;
      break;
    case EEXIST:
    case ENOTEMPTY:
      code = absl::StatusCode::kAlreadyExists;
      break;
    default:
      break;
  }
  return absl::Status(code, absl::StrCat("cannot ", operation, " ", path, ": ", std::strerror(error)));
}

class PosixWritableFile final : public WritableFile {
 public:
  PosixWritableFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  ~PosixWritableFile() override {
    if (fd_ >= 0) ::close(fd_);
  }

  absl::Status Append(absl::string_view data) override {
    while (!data.empty()) {
      const ssize_t n = ::write(fd_, data.data(), data.size());
      if (n < 0) {
        if (errno == EINTR) continue;
        return ErrnoStatus("write", path_, errno);
      }
      data.remove_prefix(n);
    }
    return absl::OkStatus();
  }

  absl::Status Sync() override {
    if (::fsync(fd_) != 0) return ErrnoStatus("sync", path_, errno);
    return absl::OkStatus();
  }

  absl::Status Close() override {
    const int fd = fd_;
    fd_ = -1;
    if (::close(fd) != 0) return ErrnoStatus("close", path_, errno);
    return absl::OkStatus();
  }

 private:
  int fd_;
  const std::string path_;
};

class PosixRandomAccessFile final : public RandomAccessFile {
 public:
  PosixRandomAccessFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  ~PosixRandomAccessFile() override { ::close(fd_); }

  absl::StatusOr<int64_t> Size() const override {
    struct stat st;
    if (::fstat(fd_, &st) != 0) return ErrnoStatus("stat", path_, errno);
    return st.st_size;
  }

  absl::Status Read(int64_t offset, int64_t n, char* out) const override {
    const int64_t end = offset + n;
    while (offset < end) {
      const ssize_t got = ::pread(fd_, out, end - offset, offset);
      if (got < 0) {
        if (errno == EINTR) continue;
        return ErrnoStatus("read", path_, errno);
      }
      if (got == 0) {
        return absl::OutOfRangeError(absl::StrCat(path_, " ends at byte ", offset, ", before byte ", end));
      }
      offset += got;
      out += got;
    }
    return absl::OkStatus();
  }

 private:
  const int fd_;
  const std::string path_;
};

class PosixFileSystem final : public FileSystem {
 public:
  absl::StatusOr<std::unique_ptr<WritableFile>> NewWritableFile(const std::string& path) override {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) return ErrnoStatus("create", path, errno);
    return std::make_unique<PosixWritableFile>(fd, path);
  }

  absl::StatusOr<std::unique_ptr<RandomAccessFile>> NewRandomAccessFile(const std::string& path) override {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return ErrnoStatus("open", path, errno);
    return std::make_unique<PosixRandomAccessFile>(fd, path);
  }

  absl::Status CreateDirs(const std::string& path) override {
    for (size_t i = 1; i <= path.size(); ++i) {
      if (i != path.size() && path[i] != '/') continue;
      const std::string part = path.substr(0, i);
      if (::mkdir(part.c_str(), 0755) == 0) continue;
      const int error = errno;
      struct stat st;
      if (::stat(part.c_str(), &st) == 0) {
        if (S_ISDIR(st.st_mode)) continue;
        return ErrnoStatus("create folder", part, EEXIST);
      }
      return ErrnoStatus("create folder", part, error);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<std::string>> List(const std::string& path) override {
    DIR* dir = ::opendir(path.c_str());
    if (dir == nullptr) return ErrnoStatus("list", path, errno);
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* entry = ::readdir(dir)) {
      const absl::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
      errno = 0;
    }
    // The end of a folder and a failed read differ in errno alone.
    const int error = errno;
    ::closedir(dir);
    if (error != 0) return ErrnoStatus("list", path, error);
    std::sort(names.begin(), names.end());
    return names;
  }

  absl::StatusOr<bool> Exists(const std::string& path) override {
    struct stat st;
    if (::stat(path.c_str(), &st) == 0) return true;
    if (errno == ENOENT || errno == ENOTDIR) return false;
    return ErrnoStatus("stat", path, errno);
  }

  absl::Status Rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) {
      return ErrnoStatus("rename", absl::StrCat(from, " to ", to), errno);
    }
    return absl::OkStatus();
  }

  absl::Status Remove(const std::string& path) override {
    if (::remove(path.c_str()) != 0) return ErrnoStatus("remove", path, errno);
    return absl::OkStatus();
  }

  absl::Status SyncDir(const std::string& path) override {
    const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return ErrnoStatus("open folder", path, errno);
    const int rc = ::fsync(fd);
    const int error = errno;
    ::close(fd);
    if (rc != 0) return ErrnoStatus("sync folder", path, error);
    return absl::OkStatus();
  }
};

std::string DirName(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

FileSystem* FileSystem::Posix() {
  static PosixFileSystem* const fs = new PosixFileSystem;
  return fs;
}

absl::StatusOr<std::string> ReadFile(FileSystem* fs, const std::string& path) {
  MUSTER_ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> file, fs->NewRandomAccessFile(path));
  MUSTER_ASSIGN_OR_RETURN(const int64_t size, file->Size());
  std::string content(size, '\0');
  MUSTER_RETURN_IF_ERROR(file->Read(0, size, content.data()));
  return content;
}

absl::Status WriteFileAtomically(FileSystem* fs, const std::string& path, absl::string_view content) {
  return WriteFileAtomically(fs, path, content, path + ".tmp");
}

absl::Status WriteFileAtomically(FileSystem* fs, const std::string& path, absl::string_view content,
                                 const std::string& aside) {
  const auto write = [&]() -> absl::Status {
    MUSTER_ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file, fs->NewWritableFile(aside));
    MUSTER_RETURN_IF_ERROR(file->Append(content));
    MUSTER_RETURN_IF_ERROR(file->Sync());
    MUSTER_RETURN_IF_ERROR(file->Close());
    return fs->Rename(aside, path);
  };
  if (const absl::Status status = write(); !status.ok()) {
    // The first error is what matters; on a full disk the space does too.
    fs->Remove(aside).IgnoreError();
    return status;
  }
  return fs->SyncDir(DirName(path));
}

}  // namespace muster
