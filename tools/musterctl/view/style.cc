#include "tools/musterctl/view/style.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace muster::ctl {
namespace {

const char* CodeOf(Color color) {
  switch (color) {
    case Color::kNone:
      return "";
    case Color::kBold:
      return "1";
    case Color::kDim:
      return "2";
    case Color::kRed:
      return "31";
    case Color::kGreen:
      return "32";
    case Color::kYellow:
      return "33";
    case Color::kBlue:
      return "34";
    case Color::kMagenta:
      return "35";
    case Color::kCyan:
      return "36";
  }
  return "";
}

// The bytes of the next unit: an escape sequence (no column), or one character.
size_t NextUnit(absl::string_view text, size_t at, bool* is_escape) {
  *is_escape = text[at] == '\033' && at + 1 < text.size() && text[at + 1] == '[';
  size_t end = at + 1;
  if (*is_escape) {
    end = at + 2;
    while (end < text.size() && !(text[end] >= '@' && text[end] <= '~')) ++end;
    return std::min(end + 1, text.size()) - at;
  }
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
  return end - at;
}

}  // namespace

std::string Paint(const Style& style, Color color, absl::string_view text) {
  if (!style.color || color == Color::kNone || text.empty()) return std::string(text);
  return absl::StrCat("\033[", CodeOf(color), "m", text, "\033[0m");
}

int DisplayWidth(absl::string_view text) {
  int width = 0;
  for (size_t at = 0; at < text.size();) {
    bool is_escape;
    at += NextUnit(text, at, &is_escape);
    if (!is_escape) ++width;
  }
  return width;
}

std::string Truncate(const Style& style, absl::string_view text, int width) {
  if (width <= 0 || DisplayWidth(text) <= width) return std::string(text);
  absl::string_view ellipsis = style.unicode ? "…" : "...";
  int keep = std::max(0, width - DisplayWidth(ellipsis));
  std::string out;
  bool cut = false;
  for (size_t at = 0; at < text.size();) {
    bool is_escape;
    size_t size = NextUnit(text, at, &is_escape);
    if (is_escape || keep > 0) absl::StrAppend(&out, text.substr(at, size));
    if (!is_escape && keep-- == 0 && !cut) {
      absl::StrAppend(&out, ellipsis.substr(0, width >= DisplayWidth(ellipsis) ? ellipsis.npos : 0));
      cut = true;
    }
    if (keep < 0) keep = 0;
    at += size;
  }
  return out;
}

std::string PadRight(absl::string_view text, int width) {
  return absl::StrCat(text, std::string(std::max(0, width - DisplayWidth(text)), ' '));
}

std::string PadLeft(absl::string_view text, int width) {
  return absl::StrCat(std::string(std::max(0, width - DisplayWidth(text)), ' '), text);
}

std::string OneLine(absl::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return out;
}

}  // namespace muster::ctl
