#include "tools/musterctl/plot/text_chart.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tools/musterctl/plot/axis.h"

namespace muster::ctl {
namespace {

// Dots on a grid of character cells.
class Canvas {
 public:
  Canvas(const Style& style, int columns, int rows)
      : style_(style), columns_(columns), rows_(rows), dots_x_(style.unicode ? 2 : 1), dots_y_(style.unicode ? 4 : 1) {
    masks_.resize(static_cast<size_t>(columns) * rows, 0);
    colors_.resize(masks_.size(), Color::kNone);
    marks_.resize(columns, Color::kNone);
  }

  int width() const { return columns_ * dots_x_; }
  int height() const { return rows_ * dots_y_; }

  void Dot(int x, int y, Color color) {
    if (x < 0 || y < 0 || x >= width() || y >= height()) return;
    size_t cell = static_cast<size_t>(y / dots_y_) * columns_ + x / dots_x_;
    // Unicode's numbering of Braille dots: the fourth row came later.
    static constexpr uint8_t kBits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    masks_[cell] |= kBits[y % dots_y_][x % dots_x_];
    colors_[cell] = color;
  }

  // Every dot between two neighbours in time, so that steep parts have no gaps.
  void Line(double x1, double y1, double x2, double y2, Color color) {
    int count = 1 + static_cast<int>(std::max(std::abs(x2 - x1), std::abs(y2 - y1)));
    for (int i = 0; i <= count; ++i) {
      double t = static_cast<double>(i) / count;
      Dot(static_cast<int>(std::lround(x1 + t * (x2 - x1))), static_cast<int>(std::lround(y1 + t * (y2 - y1))), color);
    }
  }

  void MarkColumn(int x, Color color) {
    int column = std::clamp(x / dots_x_, 0, columns_ - 1);
    marks_[column] = color;
  }

  std::string Row(int row) const {
    std::string out;
    for (int c = 0; c < columns_; ++c) {
      size_t cell = static_cast<size_t>(row) * columns_ + c;
      if (masks_[cell] == 0) {
        out += marks_[c] == Color::kNone ? " " : Paint(style_, marks_[c], style_.unicode ? "┊" : ":");
      } else if (style_.unicode) {
        // U+2800 and up in UTF-8.
        std::string braille = {'\xE2', static_cast<char>(0xA0 | (masks_[cell] >> 6)),
                               static_cast<char>(0x80 | (masks_[cell] & 0x3F))};
        out += Paint(style_, colors_[cell], braille);
      } else {
        out += colors_[cell] == Color::kYellow ? "o" : "*";
      }
    }
    return out;
  }

 private:
  const Style& style_;
  const int columns_;
  const int rows_;
  const int dots_x_;
  const int dots_y_;
  std::vector<uint8_t> masks_;
  std::vector<Color> colors_;
  std::vector<Color> marks_;
};

void DrawCurve(const std::vector<std::pair<double, double>>& curve, const Axis& x, const Axis& y, Color color,
               Canvas* canvas) {
  bool has_last = false;
  double last_x = 0, last_y = 0;
  for (const auto& [step, loss] : curve) {
    if (!std::isfinite(loss)) {
      has_last = false;
      continue;
    }
    double px = x.At(step) * (canvas->width() - 1);
    double py = (1 - y.At(loss)) * (canvas->height() - 1);
    canvas->Line(has_last ? last_x : px, has_last ? last_y : py, px, py, color);
    last_x = px;
    last_y = py;
    has_last = true;
  }
}

}  // namespace

std::string LossText(const Style& style, const LossSeries& series, int height) {
  constexpr int kLabel = 8;
  int columns = std::max(20, style.width - kLabel - 2);
  Axis x = Axis::Over(std::min(0.0, series.Steps().first), series.Steps().second, 6, /*widen=*/false);
  Axis y = Axis::Over(series.Losses().first, series.Losses().second, 5, /*widen=*/true);
  Canvas canvas(style, columns, height);
  for (const LossSeries::Change& change : series.changes) {
    canvas.MarkColumn(static_cast<int>(x.At(change.after_step) * (canvas.width() - 1)),
                      change.failure ? Color::kRed : Color::kGreen);
  }
  DrawCurve(series.train, x, y, Color::kCyan, &canvas);
  DrawCurve(series.val, x, y, Color::kYellow, &canvas);

  std::string out = absl::StrCat(Paint(style, Color::kBold, series.title), "\n");
  for (int row = 0; row < height; ++row) {
    // The tick nearest to the middle of this line, if one lies in it.
    std::string label;
    for (double tick : y.ticks) {
      if (std::lround((1 - y.At(tick)) * (height - 1)) == row) label = y.LabelOf(tick);
    }
    std::string cells = canvas.Row(row);
    while (!cells.empty() && cells.back() == ' ') cells.pop_back();
    absl::StrAppend(&out, PadLeft(label, kLabel - 1), " ", style.unicode ? "│" : "|", cells, "\n");
  }
  std::string rule, labels(kLabel + 1 + columns, ' ');
  for (int c = 0; c < columns; ++c) rule += style.unicode ? "─" : "-";
  absl::StrAppend(&out, std::string(kLabel, ' '), style.unicode ? "└" : "+", rule, "\n");
  for (double tick : x.ticks) {
    std::string label = x.LabelOf(tick);
    size_t at = kLabel + 1 + static_cast<size_t>(x.At(tick) * (columns - 1));
    at = std::min(at, labels.size() - label.size());
    labels.replace(at, label.size(), label);
  }
  while (!labels.empty() && labels.back() == ' ') labels.pop_back();
  absl::StrAppend(&out, labels, "\n");
  auto legend = [&](Color color, const char* ascii, const char* name,
                    const std::vector<std::pair<double, double>>& curve) {
    if (curve.empty()) return;
    absl::StrAppend(&out, "  ", Paint(style, color, style.unicode ? "━━" : ascii), " ", name,
                    absl::StrFormat(" loss %.4f\n", curve.back().second));
  };
  legend(Color::kCyan, "**", "training", series.train);
  legend(Color::kYellow, "oo", "validation", series.val);
  for (const LossSeries::Change& change : series.changes) {
    absl::StrAppend(&out, "  ", Paint(style, change.failure ? Color::kRed : Color::kGreen, style.unicode ? "┊" : ":"),
                    "  ", change.words, absl::StrFormat(", after step %.0f\n", change.after_step));
  }
  return out;
}

}  // namespace muster::ctl
