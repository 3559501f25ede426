#ifndef MUSTER_COORDINATOR_RUNTIME_LOG_LINE_PARSER_H_
#define MUSTER_COORDINATOR_RUNTIME_LOG_LINE_PARSER_H_

#include <deque>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::coordinator {

// A whole line of a worker's output.
struct ParsedLine {
  absl::Time at;
  // As written.
  std::string time;
  bool is_stderr = false;
  std::string text;
};

// Makes lines of the bytes of one log file in the CRI format: "<RFC 3339 time> stdout|stderr F|P <text>" each, where P
// says that the line goes on with the next one of its stream. The output's two streams may alternate between parts.
class LogLineParser {
 public:
  // `bytes` follow those of the call before; whole lines are appended to `out`.
  void Parse(absl::string_view bytes, std::deque<ParsedLine>* out);
  // The log ends here: what is begun is a line.
  void Finish(std::deque<ParsedLine>* out);

 private:
  void ParseRecord(absl::string_view record, std::deque<ParsedLine>* out);
  void Emit(bool is_stderr, std::deque<ParsedLine>* out);

  std::string rest_;                    // of a record whose end has not come
  std::optional<ParsedLine> begun_[2];  // by is_stderr
  ParsedLine last_;                     // its time stands in where a record has none
};

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_RUNTIME_LOG_LINE_PARSER_H_
