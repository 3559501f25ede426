#include "agent/shim/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <map>
#include <optional>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace muster::shim {
namespace {

struct Stat {
  pid_t parent = 0;
  uint64_t start_ticks = 0;
};

std::optional<Stat> ReadStat(absl::string_view pid) {
  const std::string path = absl::StrCat("/proc/", pid, "/stat");
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  char buffer[2048];
  const ssize_t n = ::read(fd, buffer, sizeof(buffer));
  ::close(fd);
  if (n <= 0) return std::nullopt;
  const absl::string_view text(buffer, n);
  // The name may hold spaces and parentheses; after its last ")" come state, ppid, ... and, 20th, the start time.
  const size_t end_of_name = text.rfind(')');
  if (end_of_name == absl::string_view::npos || end_of_name + 2 >= text.size()) return std::nullopt;
  const std::vector<absl::string_view> fields = absl::StrSplit(text.substr(end_of_name + 2), ' ');
  Stat stat;
  if (fields.size() < 20 || !absl::SimpleAtoi(fields[1], &stat.parent) ||
      !absl::SimpleAtoi(fields[19], &stat.start_ticks)) {
    return std::nullopt;
  }
  return stat;
}

}  // namespace

std::vector<pid_t> Descendants(pid_t root) {
  std::multimap<pid_t, pid_t> children;
  DIR* proc = ::opendir("/proc");
  if (proc == nullptr) return {};
  while (const dirent* entry = ::readdir(proc)) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(entry->d_name, &pid)) continue;
    if (const std::optional<Stat> stat = ReadStat(entry->d_name)) children.emplace(stat->parent, pid);
  }
  ::closedir(proc);
  std::vector<pid_t> found = {root};
  for (size_t i = 0; i < found.size(); ++i) {
    const auto [begin, end] = children.equal_range(found[i]);
    for (auto it = begin; it != end; ++it) found.push_back(it->second);
  }
  found.erase(found.begin());
  return found;
}

uint64_t StartTicks(pid_t pid) {
  const std::optional<Stat> stat = ReadStat(absl::StrCat(pid));
  return stat ? stat->start_ticks : 0;
}

}  // namespace muster::shim
