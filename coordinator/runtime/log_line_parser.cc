#include "coordinator/runtime/log_line_parser.h"

#include <utility>

#include "absl/strings/strip.h"

namespace muster::coordinator {
namespace {

// A program that never ends its line must not fill the memory.
constexpr size_t kMaxLineBytes = 1 << 20;

struct Record {
  absl::Time at;
  absl::string_view time;
  bool is_stderr = false;
  bool is_part = false;
  absl::string_view text;
};

std::optional<Record> ParseCri(absl::string_view line) {
  Record record;
  const size_t space = line.find(' ');
  if (space == absl::string_view::npos) return std::nullopt;
  record.time = line.substr(0, space);
  std::string error;
  if (!absl::ParseTime(absl::RFC3339_full, record.time, &record.at, &error)) return std::nullopt;
  line.remove_prefix(space + 1);
  if (absl::ConsumePrefix(&line, "stderr ")) {
    record.is_stderr = true;
  } else if (!absl::ConsumePrefix(&line, "stdout ")) {
    return std::nullopt;
  }
  if (absl::ConsumePrefix(&line, "P")) {
    record.is_part = true;
  } else if (!absl::ConsumePrefix(&line, "F")) {
    return std::nullopt;
  }
  if (!line.empty() && !absl::ConsumePrefix(&line, " ")) return std::nullopt;
  record.text = line;
  return record;
}

}  // namespace

void LogLineParser::Parse(absl::string_view bytes, std::deque<ParsedLine>* out) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    if (end == absl::string_view::npos) {
      rest_.append(bytes.data(), bytes.size());
      if (rest_.size() > kMaxLineBytes) ParseRecord(std::exchange(rest_, ""), out);
      return;
    }
    if (rest_.empty()) {
      ParseRecord(bytes.substr(0, end), out);
    } else {
      rest_.append(bytes.data(), end);
      ParseRecord(std::exchange(rest_, ""), out);
    }
    bytes.remove_prefix(end + 1);
  }
}

void LogLineParser::Finish(std::deque<ParsedLine>* out) {
  if (!rest_.empty()) ParseRecord(std::exchange(rest_, ""), out);
  Emit(false, out);
  Emit(true, out);
}

void LogLineParser::ParseRecord(absl::string_view record, std::deque<ParsedLine>* out) {
  if (record.empty()) return;
  const std::optional<Record> cri = ParseCri(record);
  if (!cri.has_value()) {
    // Not ours, but better shown than lost.
    last_.is_stderr = false;
    last_.text = std::string(record);
    out->push_back(last_);
    return;
  }
  std::optional<ParsedLine>& begun = begun_[cri->is_stderr];
  if (!begun.has_value()) begun = ParsedLine{cri->at, std::string(cri->time), cri->is_stderr, ""};
  begun->text.append(cri->text.data(), cri->text.size());
  last_.at = begun->at;
  last_.time = begun->time;
  if (!cri->is_part || begun->text.size() > kMaxLineBytes) Emit(cri->is_stderr, out);
}

void LogLineParser::Emit(bool is_stderr, std::deque<ParsedLine>* out) {
  if (!begun_[is_stderr].has_value()) return;
  out->push_back(*std::exchange(begun_[is_stderr], std::nullopt));
}

}  // namespace muster::coordinator
