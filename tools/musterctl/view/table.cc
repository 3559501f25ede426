#include "tools/musterctl/view/table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace muster::ctl {

std::string Table::Render(const Style& style, int indent) const {
  std::vector<int> widths;
  for (const Column& column : columns_) widths.push_back(DisplayWidth(column.title));
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], DisplayWidth(row[i]));
  }
  auto line = [&](const std::vector<std::string>& cells, Color color) {
    std::string text(indent, ' ');
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) text += "  ";
      bool last = i + 1 == cells.size();
      text += columns_[i].right ? PadLeft(cells[i], widths[i]) : last ? cells[i] : PadRight(cells[i], widths[i]);
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    return absl::StrCat(Truncate(style, Paint(style, color, text), style.width), "\n");
  };
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  std::string out = line(titles, Color::kDim);
  for (const auto& row : rows_) out += line(row, Color::kNone);
  return out;
}

}  // namespace muster::ctl
