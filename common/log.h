#ifndef MUSTER_COMMON_LOG_H_
#define MUSTER_COMMON_LOG_H_

#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "common/severity.h"

namespace muster {

// One line to standard error: "<RFC 3339 time> I|W|E <program>: <message>". Thread-safe; a line is one write.
void LogLine(Severity severity, absl::string_view message);

// Named in each line; set once, in main.
void SetLogProgram(absl::string_view name);

template <typename... Args>
void LogInfo(const absl::FormatSpec<Args...>& format, const Args&... args) {
  LogLine(Severity::kInfo, absl::StrFormat(format, args...));
}
template <typename... Args>
void LogWarning(const absl::FormatSpec<Args...>& format, const Args&... args) {
  LogLine(Severity::kWarning, absl::StrFormat(format, args...));
}
template <typename... Args>
void LogError(const absl::FormatSpec<Args...>& format, const Args&... args) {
  LogLine(Severity::kError, absl::StrFormat(format, args...));
}

}  // namespace muster

#endif  // MUSTER_COMMON_LOG_H_
