#include "coordinator/core/exit_words.h"

#include <array>
#include <csignal>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace muster::coordinator {
namespace {

struct SignalName {
  int number;
  const char* name;
};

// By hand: strsignal's text depends on the locale.
constexpr std::array<SignalName, 12> kSignals = {{
    {SIGHUP, "SIGHUP"},
    {SIGINT, "SIGINT"},
    {SIGQUIT, "SIGQUIT"},
    {SIGILL, "SIGILL"},
    {SIGABRT, "SIGABRT"},
    {SIGBUS, "SIGBUS"},
    {SIGFPE, "SIGFPE"},
    {SIGKILL, "SIGKILL"},
    {SIGSEGV, "SIGSEGV"},
    {SIGPIPE, "SIGPIPE"},
    {SIGALRM, "SIGALRM"},
    {SIGTERM, "SIGTERM"},
}};

std::string DescribeSignal(int number) {
  for (const SignalName& signal : kSignals) {
    if (signal.number == number) return absl::StrCat("signal ", number, " (", signal.name, ")");
  }
  return absl::StrCat("signal ", number);
}

// What the system says when the program itself cannot be run; another try would say it again.
bool ProgramCannotRun(const std::string& start_error) {
  for (const char* words : {"No such file", "not found", "Permission denied", "Exec format error", "Not a directory"}) {
    if (absl::StrContains(start_error, words)) return true;
  }
  return false;
}

}  // namespace

std::string DescribeExit(const v1::ExitInfo& exit) {
  if (!exit.start_error().empty()) return absl::StrCat("could not be started: ", exit.start_error());
  if (exit.oom_killed()) return "was killed because it ran out of memory";
  std::string words = exit.signal() != 0 ? absl::StrCat("was killed by ", DescribeSignal(exit.signal()))
                                         : absl::StrCat("exited with code ", exit.code());
  if (exit.by_agent()) absl::StrAppend(&words, " (ended by its agent)");
  if (exit.port_conflict()) absl::StrAppend(&words, ": its port was taken");
  return words;
}

bool EndedFromOutside(const v1::ExitInfo& exit) {
  if (!exit.start_error().empty()) return !ProgramCannotRun(exit.start_error());
  if (exit.by_agent() || exit.port_conflict()) return true;
  if (exit.oom_killed()) return false;
  switch (exit.signal()) {
    case SIGHUP:
    case SIGINT:
    case SIGQUIT:
    case SIGKILL:
    case SIGTERM:
      return true;
    default:
      return false;
  }
}

}  // namespace muster::coordinator
