#include "tools/musterctl/view/log_printer.h"

#include "absl/strings/str_cat.h"

namespace muster::ctl {

std::string RenderLogLine(const Style& style, const v1::LogLine& line) {
  static constexpr Color kColors[] = {Color::kCyan, Color::kGreen, Color::kMagenta, Color::kBlue, Color::kYellow};
  Color color = kColors[static_cast<uint32_t>(line.rank()) % std::size(kColors)];
  return absl::StrCat(
      Paint(style, color, absl::StrCat(line.node_id(), "/", line.rank(), " g", line.generation(), " |")), " ",
      line.text(), "\n");
}

void LogResumer::Restart() {
  for (auto& [worker, seen] : seen_) {
    seen.resuming = true;
    seen.repeated = 0;
  }
}

bool LogResumer::IsNew(const v1::LogLine& line) {
  Seen& seen = seen_[{line.generation(), line.rank()}];
  if (seen.resuming) {
    // RFC 3339 of one time zone and width: the order of the text is that of time.
    if (line.time() < seen.time) return false;
    if (line.time() == seen.time && seen.repeated < seen.lines_at_time) {
      ++seen.repeated;
      return false;
    }
    seen.resuming = false;
  }
  if (line.time() != seen.time) {
    seen.time = line.time();
    seen.lines_at_time = 0;
  }
  ++seen.lines_at_time;
  return true;
}

}  // namespace muster::ctl
