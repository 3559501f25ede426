#include "tools/musterctl/view/spark.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace muster::ctl {

std::string Sparkline(const Style& style, const std::vector<double>& values, int width) {
  static constexpr const char* kUnicode[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static constexpr const char* kAscii[] = {"_", ".", "-", "~", "=", "+", "*", "#"};
  constexpr int kLevels = 8;
  if (values.empty() || width <= 0) return "";

  int columns = std::min<int>(width, static_cast<int>(values.size()));
  std::vector<double> means;
  for (int c = 0; c < columns; ++c) {
    size_t begin = values.size() * c / columns;
    size_t end = std::max(begin + 1, values.size() * (c + 1) / columns);
    double sum = 0;
    for (size_t i = begin; i < end; ++i) sum += values[i];
    means.push_back(sum / static_cast<double>(end - begin));
  }
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (double v : means) {
    if (!std::isfinite(v)) continue;
    low = std::min(low, v);
    high = std::max(high, v);
  }
  std::string out;
  for (double v : means) {
    if (!std::isfinite(v)) {
      out += " ";
      continue;
    }
    int level = high > low ? static_cast<int>((v - low) / (high - low) * (kLevels - 1) + 0.5) : kLevels / 2;
    out += style.unicode ? kUnicode[level] : kAscii[level];
  }
  return out;
}

std::string ProgressBar(const Style& style, double fraction, int width) {
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  fraction = std::clamp(std::isfinite(fraction) ? fraction : 0.0, 0.0, 1.0);
  std::string full, part;
  int eighths = static_cast<int>(fraction * width * 8 + 1e-9);
  int cells = eighths / 8;
  if (!style.unicode) {
    full = std::string(cells, '#');
    return full + std::string(std::max(0, width - cells), '.');
  }
  for (int i = 0; i < cells; ++i) full += "█";
  if (cells < width && eighths % 8 != 0) {
    part = kEighths[eighths % 8];
    ++cells;
  }
  std::string rest;
  for (int i = cells; i < width; ++i) rest += "░";
  return Paint(style, Color::kGreen, full + part) + Paint(style, Color::kDim, rest);
}

}  // namespace muster::ctl
