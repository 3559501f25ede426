#include "coordinator/runtime/log_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/file_system.h"
#include "common/status_macros.h"

namespace muster::coordinator {
namespace {

absl::Status Failed(absl::string_view operation, const std::string& path, int error) {
  const std::string what = absl::StrCat("cannot ", operation, " ", path, ": ", std::strerror(error));
  if (error == ENOSPC || error == EDQUOT) return absl::ResourceExhaustedError(what);
  if (error == EACCES || error == EPERM || error == EROFS) return absl::PermissionDeniedError(what);
  return absl::InternalError(what);
}

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  int get() const { return fd_; }

 private:
  const int fd_;
};

absl::Status WriteAll(int fd, absl::string_view data, const std::string& path) {
  while (!data.empty()) {
    const ssize_t n = ::write(fd, data.data(), data.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return Failed("write", path, errno);
    }
    data.remove_prefix(n);
  }
  return absl::OkStatus();
}

}  // namespace

LogStore::LogStore(LogStoreOptions options, Clock* clock) : options_(std::move(options)), clock_(clock) {}

absl::StatusOr<int64_t> LogStore::Append(const v1::LogChunk& chunk) {
  MUSTER_ASSIGN_OR_RETURN(const LogFileName name, FileOfChunk(chunk));
  bool added = false;
  absl::StatusOr<int64_t> kept;
  {
    std::lock_guard<std::mutex> lock(mu_);
    kept = AppendToFile(chunk, name, &added);
    if (kept.ok() && chunk.eof() && *kept >= chunk.offset() + static_cast<int64_t>(chunk.data().size())) {
      added |= ended_.insert({JobId(chunk.job_id()), {name.generation, name.rank}}).second;
    }
  }
  if (added) appended_.Notify(JobId(chunk.job_id()));
  return kept;
}

absl::StatusOr<int64_t> LogStore::AppendToFile(const v1::LogChunk& chunk, const LogFileName& name, bool* added) {
  const JobId job(chunk.job_id());
  const std::string path = PathOf(job, name);
  MUSTER_RETURN_IF_ERROR(FileSystem::Posix()->CreateDirs(absl::StrCat(options_.dir, "/", job.value())));
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (fd.get() < 0) return Failed("open", path, errno);
  struct stat st;
  if (::fstat(fd.get(), &st) != 0) return Failed("stat", path, errno);

  const int64_t size = st.st_size;
  const int64_t end = chunk.offset() + static_cast<int64_t>(chunk.data().size());
  // Beyond the limit only once the line that says so was written.
  if (size > options_.max_file_bytes) return std::max(size, end);
  if (chunk.offset() > size || end <= size) return size;

  absl::string_view data(chunk.data());
  data.remove_prefix(size - chunk.offset());
  std::string cut;
  if (static_cast<int64_t>(data.size()) > options_.max_file_bytes - size) {
    data = data.substr(0, options_.max_file_bytes - size);
    cut = absl::StrCat(data, CutLine());
    data = cut;
  }
  MUSTER_RETURN_IF_ERROR(CheckRoom());
  *added = true;
  MUSTER_RETURN_IF_ERROR(WriteAll(fd.get(), data, path));
  return end;
}

// Begins with a line's end, since the limit may have come in the middle of a line.
std::string LogStore::CutLine() const {
  return absl::StrCat("\n", absl::FormatTime("%Y-%m-%dT%H:%M:%E9SZ", clock_->Now(), absl::UTCTimeZone()),
                      " stderr F [muster] this log has reached the coordinator's limit of ",
                      options_.max_file_bytes >> 20, " MiB and is cut here; it goes on in the node's own log folder\n");
}

absl::Status LogStore::CheckRoom() const {
  struct statvfs fs;
  if (::statvfs(options_.dir.c_str(), &fs) != 0) return Failed("look at", options_.dir, errno);
  const uint64_t free = static_cast<uint64_t>(fs.f_bavail) * fs.f_frsize;
  if (free >= static_cast<uint64_t>(options_.min_free_bytes)) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("no room for logs under ", options_.dir, ": ", free >> 20,
                                                   " MiB free, ", options_.min_free_bytes >> 20,
                                                   " MiB are kept for the coordinator's state"));
}

bool LogStore::SawEnd(const JobId& job, Generation generation, int rank) const {
  std::lock_guard<std::mutex> lock(mu_);
  return ended_.count({job, {generation, rank}}) > 0;
}

absl::StatusOr<std::vector<LogFileName>> LogStore::Files(const JobId& job) const {
  std::vector<LogFileName> files;
  const absl::StatusOr<std::vector<std::string>> names =
      FileSystem::Posix()->List(absl::StrCat(options_.dir, "/", job.value()));
  if (absl::IsNotFound(names.status())) return files;
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    if (std::optional<LogFileName> file = LogFileName::Parse(name)) files.push_back(*std::move(file));
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string LogStore::PathOf(const JobId& job, const LogFileName& file) const {
  return absl::StrCat(options_.dir, "/", job.value(), "/", file.ToString());
}

}  // namespace muster::coordinator
