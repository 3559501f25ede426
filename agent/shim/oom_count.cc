#include "agent/shim/oom_count.h"

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace muster::shim {
namespace {

// The number after "oom_kill " in a file of "key number" lines.
std::optional<int64_t> ReadCount(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    int64_t count = 0;
    if (absl::StartsWith(line, "oom_kill ") && absl::SimpleAtoi(line.substr(9), &count)) return count;
  }
  return std::nullopt;
}

}  // namespace

std::optional<int64_t> CgroupOomKills() {
  std::ifstream file("/proc/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {
    // hierarchy:controllers:path
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    std::optional<int64_t> count;
    if (parts[0] == "0" && parts[1].empty()) {
      count = ReadCount(absl::StrCat("/sys/fs/cgroup", parts[2], "/memory.events"));
    } else if (parts[1] == "memory") {
      count = ReadCount(absl::StrCat("/sys/fs/cgroup/memory", parts[2], "/memory.oom_control"));
    }
    if (count) return count;
  }
  return std::nullopt;
}

}  // namespace muster::shim
