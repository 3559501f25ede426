#include "agent/shim/cri_log.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace muster::shim {
namespace {

std::string Prefix(absl::Time now, absl::string_view stream, char tag) {
  return absl::StrCat(absl::FormatTime("%Y-%m-%dT%H:%M:%E9SZ", now, absl::UTCTimeZone()), " ", stream, " ",
                      std::string(1, tag), " ");
}

}  // namespace

std::string CriLines::Append(absl::string_view data, absl::Time now) {
  std::string out;
  while (!data.empty()) {
    const size_t newline = data.find('\n');
    const size_t room = kMaxText - pending_.size();
    const size_t text = std::min(newline, data.size());
    if (text > room) {
      absl::StrAppend(&out, Prefix(now, stream_, 'P'), pending_, data.substr(0, room), "\n");
      pending_.clear();
      data.remove_prefix(room);
      continue;
    }
    if (newline == absl::string_view::npos) {
      pending_.append(data.data(), data.size());
      break;
    }
    absl::StrAppend(&out, Prefix(now, stream_, 'F'), pending_, data.substr(0, newline), "\n");
    pending_.clear();
    data.remove_prefix(newline + 1);
  }
  return out;
}

std::string CriLines::Finish(absl::Time now) {
  if (pending_.empty()) return "";
  std::string out = absl::StrCat(Prefix(now, stream_, 'F'), pending_, "\n");
  pending_.clear();
  return out;
}

LogFile::~LogFile() { ::close(fd_); }

bool LogFile::WriteWhole(absl::string_view lines) {
  struct stat st;
  if (::fstat(fd_, &st) != 0) st.st_size = -1;
  absl::string_view left = lines;
  while (!left.empty()) {
    const ssize_t n = ::write(fd_, left.data(), left.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      lost_errno_ = errno;
      // A part was written: take it back.
      if (left.size() != lines.size() && st.st_size >= 0 && ::ftruncate(fd_, st.st_size) != 0) return false;
      return false;
    }
    left.remove_prefix(n);
  }
  return true;
}

void LogFile::Write(absl::string_view lines, absl::Time now) {
  if (lines.empty()) return;
  if (lost_bytes_ > 0) {
    const std::string note = absl::StrCat(Prefix(now, "stderr", 'F'), "muster-shim: ", lost_bytes_,
                                          " bytes of log were lost: ", std::strerror(lost_errno_), "\n");
    if (!WriteWhole(note)) {
      lost_bytes_ += lines.size();
      return;
    }
    lost_bytes_ = 0;
  }
  if (!WriteWhole(lines)) lost_bytes_ += lines.size();
}

}  // namespace muster::shim
