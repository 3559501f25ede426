#include "common/log.h"

#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "common/clock.h"

namespace muster {
namespace {

std::string& Program() {
  static std::string* const name = new std::string("muster");
  return *name;
}

}  // namespace

void SetLogProgram(absl::string_view name) { Program() = std::string(name); }

void LogLine(Severity severity, absl::string_view message) {
  const char* letter = severity == Severity::kInfo ? "I" : severity == Severity::kWarning ? "W" : "E";
  const std::string line =
      absl::StrCat(absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", Clock::Real()->Now(), absl::UTCTimeZone()), " ", letter,
                   " ", Program(), ": ", absl::StrReplaceAll(message, {{"\n", "\\n"}}), "\n");
  // A log line that cannot be written has nowhere to be reported.
  [[maybe_unused]] ssize_t n = ::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace muster
