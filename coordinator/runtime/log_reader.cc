#include "coordinator/runtime/log_reader.h"

#include <algorithm>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "common/file_system.h"
#include "common/status_macros.h"

namespace muster::coordinator {
namespace {

constexpr int64_t kReadBytes = 32 << 10;

v1::LogLine ToProto(const LogFileName& name, ParsedLine line) {
  v1::LogLine out;
  out.set_time(std::move(line.time));
  out.set_is_stderr(line.is_stderr);
  out.set_generation(name.generation.value());
  out.set_node_id(name.node.value());
  out.set_rank(name.rank);
  out.set_text(std::move(line.text));
  return out;
}

bool IsPart(absl::string_view record) {
  // "<time> <stream> P ...": the tag stands after the second space.
  const size_t first = record.find(' ');
  const size_t second = first == absl::string_view::npos ? first : record.find(' ', first + 1);
  return second != absl::string_view::npos && record.substr(second + 1, 1) == "P";
}

}  // namespace

LogReader::LogReader(const LogStore* store, LogFilter filter) : store_(store), filter_(std::move(filter)) {}

absl::StatusOr<v1::LogLines> LogReader::Next(int64_t max_bytes) { return Read(max_bytes, /*last=*/false); }

absl::StatusOr<v1::LogLines> LogReader::Last(int64_t max_bytes) { return Read(max_bytes, /*last=*/true); }

absl::StatusOr<v1::LogLines> LogReader::Read(int64_t max_bytes, bool last) {
  // While lines are at hand the files need not be looked at: their order is settled.
  if (heads_.empty()) MUSTER_RETURN_IF_ERROR(FindFiles());
  if (!started_ && filter_.tail > 0) MUSTER_RETURN_IF_ERROR(ReadTail(last));
  started_ = true;
  v1::LogLines out;
  int64_t bytes = 0;
  while (bytes < max_bytes) {
    v1::LogLine line;
    if (!tail_.empty()) {
      line = std::move(tail_.front());
      tail_.pop_front();
    } else {
      MUSTER_ASSIGN_OR_RETURN(std::optional<v1::LogLine> next, Pop(last));
      if (!next.has_value()) break;
      line = *std::move(next);
    }
    bytes += static_cast<int64_t>(line.text().size()) + 64;
    *out.add_lines() = std::move(line);
  }
  return out;
}

absl::Status LogReader::FindFiles() {
  MUSTER_ASSIGN_OR_RETURN(const std::vector<LogFileName> names, store_->Files(filter_.job));
  for (const LogFileName& name : names) {
    if (!filter_.ranks.empty() && filter_.ranks.count(name.rank) == 0) continue;
    if (filter_.generation.value() != 0 && filter_.generation != name.generation) continue;
    const auto [it, is_new] = files_.try_emplace(name);
    it->second.at_end = false;
    if (is_new && !started_ && filter_.tail > 0) MUSTER_RETURN_IF_ERROR(Rewind(name, &it->second));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<v1::LogLine>> LogReader::Pop(bool last) {
  // A file without a head is either done for now or was never looked at.
  for (auto& [name, file] : files_) {
    if (file.lines.empty() && !file.at_end) {
      MUSTER_RETURN_IF_ERROR(Refill(name, &file, last));
      if (!file.lines.empty()) heads_.emplace(file.lines.front().at, name);
    }
  }
  if (heads_.empty()) return std::optional<v1::LogLine>();
  auto head = heads_.extract(heads_.begin());
  const LogFileName& name = head.value().second;
  File& file = files_.at(name);
  v1::LogLine line = ToProto(name, std::move(file.lines.front()));
  file.lines.pop_front();
  if (!file.lines.empty()) heads_.emplace(file.lines.front().at, name);
  return std::optional<v1::LogLine>(std::move(line));
}

absl::Status LogReader::Refill(const LogFileName& name, File* file, bool last) {
  MUSTER_ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> bytes,
                          FileSystem::Posix()->NewRandomAccessFile(store_->PathOf(filter_.job, name)));
  MUSTER_ASSIGN_OR_RETURN(const int64_t size, bytes->Size());
  std::string buffer;
  while (file->lines.empty() && file->offset < size) {
    buffer.resize(std::min(kReadBytes, size - file->offset));
    MUSTER_RETURN_IF_ERROR(bytes->Read(file->offset, static_cast<int64_t>(buffer.size()), buffer.data()));
    file->offset += static_cast<int64_t>(buffer.size());
    file->parser.Parse(buffer, &file->lines);
  }
  if (file->offset >= size && file->lines.empty()) {
    if (last) file->parser.Finish(&file->lines);
    file->at_end = true;
  }
  return absl::OkStatus();
}

absl::Status LogReader::Rewind(const LogFileName& name, File* file) const {
  MUSTER_ASSIGN_OR_RETURN(const std::unique_ptr<RandomAccessFile> bytes,
                          FileSystem::Posix()->NewRandomAccessFile(store_->PathOf(filter_.job, name)));
  MUSTER_ASSIGN_OR_RETURN(int64_t begin, bytes->Size());
  std::string text;  // from `begin` to the end of the part not counted yet
  int lines = 0;
  while (begin > 0) {
    const int64_t n = std::min(kReadBytes, begin);
    std::string block(n, '\0');
    MUSTER_RETURN_IF_ERROR(bytes->Read(begin - n, n, block.data()));
    begin -= n;
    text.insert(0, block);
    // Whole records from the back; the first bytes may be the end of an earlier record, so they stay.
    for (size_t end = text.size(); end > 0;) {
      const size_t newline = text.rfind('\n', end - 1);
      const size_t before =
          newline == 0 || newline == std::string::npos ? std::string::npos : text.rfind('\n', newline - 1);
      if (before == std::string::npos) {
        text.resize(end);
        break;
      }
      // One more than asked, since the first may be the end of a line whose parts lie before it.
      if (!IsPart(absl::string_view(text).substr(before + 1, newline - before - 1)) && ++lines > filter_.tail) {
        file->offset = begin + static_cast<int64_t>(before) + 1;
        return absl::OkStatus();
      }
      end = before + 1;
    }
  }
  return absl::OkStatus();
}

absl::Status LogReader::ReadTail(bool last) {
  while (true) {
    MUSTER_ASSIGN_OR_RETURN(std::optional<v1::LogLine> line, Pop(last));
    if (!line.has_value()) return absl::OkStatus();
    tail_.push_back(*std::move(line));
    if (static_cast<int>(tail_.size()) > filter_.tail) tail_.pop_front();
  }
}

}  // namespace muster::coordinator
