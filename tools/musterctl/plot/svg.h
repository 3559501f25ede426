#ifndef MUSTER_TOOLS_MUSTERCTL_PLOT_SVG_H_
#define MUSTER_TOOLS_MUSTERCTL_PLOT_SVG_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace muster::ctl {

// Writes an SVG picture, an element a call. Sizes are in pixels, from the upper left corner.
class SvgWriter {
 public:
  SvgWriter(double width, double height, absl::string_view title);

  struct Pen {
    std::string color = "#000000";
    double width = 1;
    // SVG's stroke-dasharray; empty: solid.
    std::string dashes;
    double opacity = 1;
  };
  enum class Anchor { kStart, kMiddle, kEnd };
  struct Font {
    double size = 12;
    std::string color = "#333333";
    bool bold = false;
    Anchor anchor = Anchor::kStart;
    // Degrees, clockwise.
    double rotation = 0;
  };

  void Line(double x1, double y1, double x2, double y2, const Pen& pen);
  // Points that are not finite break the line.
  void Polyline(const std::vector<std::pair<double, double>>& points, const Pen& pen);
  void Rect(double x, double y, double width, double height, absl::string_view fill, double radius = 0);
  // A filled disc; `hint` is shown when the mouse is over it.
  void Dot(double x, double y, double radius, absl::string_view fill, absl::string_view hint = "");
  // (x, y): the anchor on the base line.
  void Text(double x, double y, absl::string_view text, const Font& font);

  // The whole document. Call once.
  std::string Finish();

 private:
  std::string out_;
};

// &, <, > and quotes as entities, control characters as spaces.
std::string XmlEscape(absl::string_view text);

}  // namespace muster::ctl

#endif  // MUSTER_TOOLS_MUSTERCTL_PLOT_SVG_H_
