#include "worker/data/glob.h"

#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace muster::worker {
namespace {

absl::Status CheckRegularFile(const std::string& path) {
  struct stat st;
  if (::stat(path.c_str(), &st) != 0) {
    const std::string message = absl::StrCat("cannot open ", path, ": ", std::strerror(errno));
    return errno == EACCES ? absl::PermissionDeniedError(message) : absl::NotFoundError(message);
  }
  if (S_ISDIR(st.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is a folder; name its files, for instance ", path,
                                                   path.back() == '/' ? "" : "/", "*.bin"));
  }
  if (!S_ISREG(st.st_mode)) return absl::InvalidArgumentError(absl::StrCat(path, " is not a regular file"));
  return absl::OkStatus();
}

// glob(3) calls this for a folder it cannot read, and stops when it returns not 0. A folder that is not there is a
// pattern that does not match.
int StopUnlessMissing(const char*, int error) { return error != ENOENT && error != ENOTDIR; }

}  // namespace

absl::StatusOr<std::vector<std::string>> ExpandToAnything(const std::string& pattern) {
  if (pattern.empty()) return absl::InvalidArgumentError("an empty path or pattern of files is given");
  struct stat st;
  std::vector<std::string> paths;
  if (::stat(pattern.c_str(), &st) == 0) {
    paths.push_back(pattern);
  } else {
    glob_t matches;
    errno = 0;
    const int rc = ::glob(pattern.c_str(), GLOB_NOSORT, StopUnlessMissing, &matches);
    const int error = errno;
    if (rc == 0) paths.assign(matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
    ::globfree(&matches);
    if (rc == GLOB_ABORTED) {
      return absl::PermissionDeniedError(
          absl::StrCat("cannot look for ", pattern, ": ", std::strerror(error), "; make its folders readable"));
    }
    if (rc == GLOB_NOSPACE) return absl::ResourceExhaustedError(absl::StrCat("no memory to look for ", pattern));
    if (paths.empty()) {
      return absl::NotFoundError(
          absl::StrCat("no file matches ", pattern, "; check the path, and that this node sees the folder"));
    }
    std::sort(paths.begin(), paths.end());
  }
  return paths;
}

absl::StatusOr<std::vector<std::string>> ExpandPattern(const std::string& pattern) {
  MUSTER_ASSIGN_OR_RETURN(std::vector<std::string> paths, ExpandToAnything(pattern));
  for (const std::string& path : paths) MUSTER_RETURN_IF_ERROR(CheckRegularFile(path));
  return paths;
}

}  // namespace muster::worker
