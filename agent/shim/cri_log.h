#ifndef MUSTER_AGENT_SHIM_CRI_LOG_H_
#define MUSTER_AGENT_SHIM_CRI_LOG_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::shim {

// Turns one output stream of a worker into log lines in the CRI format:
// "<RFC 3339 time, nanoseconds, Z> stdout|stderr F|P <text>\n". P: the text goes on in the next line of this stream.
// A line carries the time at which its end came. Lines longer than kMaxText come in parts. Bytes are kept as they are;
// a last line without a newline is closed by Finish.
class CriLines {
 public:
  static constexpr size_t kMaxText = 16 * 1024;

  // `stream`: "stdout" or "stderr".
  explicit CriLines(absl::string_view stream) : stream_(stream) {}

  // The lines that `data` completes; may be empty.
  std::string Append(absl::string_view data, absl::Time now);
  // At the end of the stream.
  std::string Finish(absl::Time now);

 private:
  const std::string stream_;
  std::string pending_;
};

// Appends whole lines to a log file. On a full disk whole writes are dropped, never parts of lines, and the loss is
// told in the log as soon as there is room: the worker must not block, and the log must stay readable.
class LogFile {
 public:
  // Takes over `fd`, open for appending.
  explicit LogFile(int fd) : fd_(fd) {}
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  ~LogFile();

  void Write(absl::string_view lines, absl::Time now);

 private:
  bool WriteWhole(absl::string_view lines);

  const int fd_;
  size_t lost_bytes_ = 0;
  int lost_errno_ = 0;
};

}  // namespace muster::shim

#endif  // MUSTER_AGENT_SHIM_CRI_LOG_H_
