// muster-shim: holds one worker for the agent. Started by muster-agent; not meant to be run by hand.

#include <fcntl.h>
#include <linux/close_range.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "agent/shim/records.h"
#include "agent/shim/shim.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/version.h"

namespace {

constexpr char kUsage[] =
    "usage: muster-shim --dir DIR --working_dir DIR --orphan_after DURATION -- COMMAND...\n"
    "Holds one worker: its output, its exit status. Started by muster-agent, with a listening socket on descriptor "
    "3.\n";

}  // namespace

int main(int argc, char** argv) {
  muster::SetLogProgram("muster-shim");
  muster::shim::ShimOptions options;
  int i = 1;
  for (; i < argc && absl::string_view(argv[i]) != "--"; ++i) {
    const absl::string_view flag = argv[i];
    if (flag == "--help") return ::write(STDOUT_FILENO, kUsage, sizeof(kUsage) - 1) < 0;
    if (flag == "--version") {
      const std::string version = std::string("muster-shim ") + muster::kVersion + "\n";
      return ::write(STDOUT_FILENO, version.data(), version.size()) < 0;
    }
    const char* value = i + 1 < argc ? argv[++i] : "";
    if (flag == "--dir") {
      options.dir = value;
    } else if (flag == "--working_dir") {
      options.working_dir = value;
    } else if (flag == "--orphan_after" && absl::ParseDuration(value, &options.orphan_after)) {
    } else {
      muster::LogError("%s %s: not a flag of muster-shim, or not a value for it; see --help", flag, value);
      return 2;
    }
  }
  for (++i; i < argc; ++i) options.command.push_back(argv[i]);
  if (options.dir.empty() || options.working_dir.empty() || options.command.empty()) {
    muster::LogError("--dir, --working_dir and a command are needed; see --help");
    return 2;
  }
  options.listener = muster::shim::kListenerFd;
  if (::fcntl(options.listener, F_SETFD, FD_CLOEXEC) != 0) {
    muster::LogError("no listening socket on descriptor %d: muster-shim is started by muster-agent", options.listener);
    return 2;
  }
  // Whatever else the agent had open is not ours, and even less the worker's.
  ::close_range(muster::shim::kListenerFd + 1, ~0U, 0);
  const absl::Status status = muster::shim::RunShim(options, muster::Clock::Real());
  if (!status.ok()) {
    muster::LogError("%s", std::string(status.message()));
    return 1;
  }
  return 0;
}
