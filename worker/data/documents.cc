#include "worker/data/documents.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/file_system.h"
#include "common/status_macros.h"
#include "worker/data/glob.h"

namespace muster::worker {
namespace {

class Finder {
 public:
  // `named`: given by the user, rather than found in a folder.
  absl::Status Add(const std::string& path, bool named) {
    struct stat st;
    if (::stat(path.c_str(), &st) != 0) {
      const std::string message = absl::StrCat("cannot read ", path, ": ", std::strerror(errno));
      return errno == EACCES ? absl::PermissionDeniedError(message) : absl::NotFoundError(message);
    }
    if (S_ISDIR(st.st_mode)) return AddFolder(path, named);
    if (!S_ISREG(st.st_mode)) {
      if (!named) return absl::OkStatus();
      return absl::InvalidArgumentError(absl::StrCat(path, " is neither a file nor a folder"));
    }
    if (st.st_size > 0 && seen_.emplace(st.st_dev, st.st_ino).second) {
      documents_.push_back({.path = path, .bytes = st.st_size, .device = st.st_dev, .inode = st.st_ino});
    }
    return absl::OkStatus();
  }

  std::vector<Document> Take() { return std::move(documents_); }

 private:
  absl::Status AddFolder(const std::string& path, bool named) {
    struct stat st;
    // A link could lead back up.
    if (!named && ::lstat(path.c_str(), &st) == 0 && S_ISLNK(st.st_mode)) return absl::OkStatus();
    MUSTER_ASSIGN_OR_RETURN(const std::vector<std::string> names, FileSystem::Posix()->List(path));
    for (const std::string& name : names) {
      if (absl::StartsWith(name, ".")) continue;
      MUSTER_RETURN_IF_ERROR(Add(absl::StrCat(path, absl::EndsWith(path, "/") ? "" : "/", name), /*named=*/false));
    }
    return absl::OkStatus();
  }

  std::set<std::pair<uint64_t, uint64_t>> seen_;
  std::vector<Document> documents_;
};

}  // namespace

absl::StatusOr<std::vector<Document>> FindDocuments(const std::vector<std::string>& inputs) {
  if (inputs.empty()) return absl::InvalidArgumentError("no files to pack are given; name files, folders or globs");
  Finder finder;
  for (const std::string& input : inputs) {
    MUSTER_ASSIGN_OR_RETURN(const std::vector<std::string> paths, ExpandToAnything(input));
    for (const std::string& path : paths) MUSTER_RETURN_IF_ERROR(finder.Add(path, /*named=*/true));
  }
  return finder.Take();
}

}  // namespace muster::worker
