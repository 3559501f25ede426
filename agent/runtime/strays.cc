#include "agent/runtime/strays.h"

#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace muster::agent {
namespace {

bool Matches(const std::string& pid, const std::vector<std::string>& wanted) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/environ"), std::ios::binary);
  const std::string content((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::set<absl::string_view> entries = absl::StrSplit(content, '\0');
  for (const std::string& entry : wanted) {
    if (entries.count(entry) == 0) return false;
  }
  return true;
}

}  // namespace

int KillStrays(const WorkerKey& worker, const std::string& socket_path) {
  const std::vector<std::string> wanted = {
      absl::StrCat("MUSTER_AGENT_SOCKET=", socket_path), absl::StrCat("MUSTER_JOB_ID=", worker.gang.job.value()),
      absl::StrCat("MUSTER_GENERATION=", worker.gang.generation.value()), absl::StrCat("RANK=", worker.rank)};
  DIR* proc = ::opendir("/proc");
  if (proc == nullptr) return 0;
  int found = 0;
  while (const dirent* entry = ::readdir(proc)) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(entry->d_name, &pid) || pid == ::getpid() || !Matches(entry->d_name, wanted)) continue;
    ++found;
    ::kill(pid, SIGKILL);
  }
  ::closedir(proc);
  return found;
}

}  // namespace muster::agent
