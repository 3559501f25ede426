#ifndef MUSTER_COORDINATOR_RUNTIME_LOG_READER_H_
#define MUSTER_COORDINATOR_RUNTIME_LOG_READER_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/ids.h"
#include "coordinator/runtime/log_line_parser.h"
#include "coordinator/runtime/log_store.h"
#include "proto/ctl.pb.h"

namespace muster::coordinator {

struct LogFilter {
  JobId job;
  std::set<int> ranks;    // empty: all
  Generation generation;  // 0: all
  int tail = 0;           // only the newest n lines of what is there at the start; 0: all
};

// The lines of a job's logs, of all files merged by time; what is appended while it reads comes later, in the order of
// the times within one call. Holds no file open and little memory, however large the logs. Not thread-safe.
class LogReader {
 public:
  // `store` outlives the reader.
  LogReader(const LogStore* store, LogFilter filter);

  // The next lines, about `max_bytes` of text at most. Empty: there is no more for now.
  absl::StatusOr<v1::LogLines> Next(int64_t max_bytes);
  // As Next, and a line that has no end yet counts as whole: nothing more is to come.
  absl::StatusOr<v1::LogLines> Last(int64_t max_bytes);

 private:
  struct File {
    int64_t offset = 0;
    bool at_end = false;
    LogLineParser parser;
    std::deque<ParsedLine> lines;
  };
  using Files = std::map<LogFileName, File>;

  absl::StatusOr<v1::LogLines> Read(int64_t max_bytes, bool last);
  absl::Status FindFiles();
  // Reads on until it has a line, or is at its end.
  absl::Status Refill(const LogFileName& name, File* file, bool last);
  // Moves to where about the newest `tail` lines begin.
  absl::Status Rewind(const LogFileName& name, File* file) const;
  absl::Status ReadTail(bool last);
  // The next line in order, if there is one.
  absl::StatusOr<std::optional<v1::LogLine>> Pop(bool last);

  const LogStore* const store_;
  const LogFilter filter_;
  bool started_ = false;
  Files files_;
  // Files that have a line to give, by its time.
  std::set<std::pair<absl::Time, LogFileName>> heads_;
  std::deque<v1::LogLine> tail_;
};

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_RUNTIME_LOG_READER_H_
