#ifndef MUSTER_TOOLS_MUSTERCTL_VIEW_STYLE_H_
#define MUSTER_TOOLS_MUSTERCTL_VIEW_STYLE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace muster::ctl {

// How text is to be drawn.
struct Style {
  bool color = false;
  // Bars, sparklines and dots in Unicode; otherwise in ASCII.
  bool unicode = true;
  // Columns; 0: no limit (a file or a pipe).
  int width = 0;
};

enum class Color { kNone, kBold, kDim, kRed, kGreen, kYellow, kBlue, kMagenta, kCyan };

// `text` in that colour, or as it is where the style has none.
std::string Paint(const Style& style, Color color, absl::string_view text);

// Columns that UTF-8 text takes; escape sequences take none. East Asian wide characters count as one.
int DisplayWidth(absl::string_view text);
// At most `width` columns, the last an ellipsis where something was cut; escape sequences are kept. 0: no limit.
std::string Truncate(const Style& style, absl::string_view text, int width);
// To the width of a column.
std::string PadRight(absl::string_view text, int width);
std::string PadLeft(absl::string_view text, int width);
// One line: control characters become spaces, so that no text from elsewhere moves the cursor.
std::string OneLine(absl::string_view text);

}  // namespace muster::ctl

#endif  // MUSTER_TOOLS_MUSTERCTL_VIEW_STYLE_H_
