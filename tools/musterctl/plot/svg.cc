#include "tools/musterctl/plot/svg.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace muster::ctl {
namespace {

// Hundredths of a pixel, without trailing zeros.
std::string Px(double v) {
  std::string text = absl::StrFormat("%.2f", v);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string Stroke(const SvgWriter::Pen& pen) {
  std::string out = absl::StrCat("stroke=\"", pen.color, "\" stroke-width=\"", Px(pen.width), "\"");
  if (!pen.dashes.empty()) absl::StrAppend(&out, " stroke-dasharray=\"", pen.dashes, "\"");
  if (pen.opacity < 1) absl::StrAppend(&out, " stroke-opacity=\"", Px(pen.opacity), "\"");
  return out;
}

}  // namespace

std::string XmlEscape(absl::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        // XML 1.0 has no way to write most control characters.
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

SvgWriter::SvgWriter(double width, double height, absl::string_view title) {
  out_ = absl::StrCat("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"",
                      Px(width), "\" height=\"", Px(height), "\" viewBox=\"0 0 ", Px(width), " ", Px(height),
                      "\" font-family=\"system-ui, 'DejaVu Sans', Helvetica, Arial, sans-serif\">\n<title>",
                      XmlEscape(title), "</title>\n");
  Rect(0, 0, width, height, "#ffffff");
}

void SvgWriter::Line(double x1, double y1, double x2, double y2, const Pen& pen) {
  absl::StrAppend(&out_, "<line x1=\"", Px(x1), "\" y1=\"", Px(y1), "\" x2=\"", Px(x2), "\" y2=\"", Px(y2), "\" ",
                  Stroke(pen), "/>\n");
}

void SvgWriter::Polyline(const std::vector<std::pair<double, double>>& points, const Pen& pen) {
  std::string run;
  auto flush = [&] {
    if (!run.empty()) {
      absl::StrAppend(&out_, "<polyline points=\"", run, "\" fill=\"none\" stroke-linejoin=\"round\" ", Stroke(pen),
                      "/>\n");
    }
    run.clear();
  };
  for (const auto& [x, y] : points) {
    if (!std::isfinite(x) || !std::isfinite(y)) {
      flush();
      continue;
    }
    absl::StrAppend(&run, run.empty() ? "" : " ", Px(x), ",", Px(y));
  }
  flush();
}

void SvgWriter::Rect(double x, double y, double width, double height, absl::string_view fill, double radius) {
  absl::StrAppend(&out_, "<rect x=\"", Px(x), "\" y=\"", Px(y), "\" width=\"", Px(width), "\" height=\"", Px(height),
                  "\" fill=\"", fill, "\"", radius > 0 ? absl::StrCat(" rx=\"", Px(radius), "\"") : "", "/>\n");
}

void SvgWriter::Dot(double x, double y, double radius, absl::string_view fill, absl::string_view hint) {
  absl::StrAppend(&out_, "<circle cx=\"", Px(x), "\" cy=\"", Px(y), "\" r=\"", Px(radius), "\" fill=\"", fill, "\"");
  absl::StrAppend(&out_, hint.empty() ? "/>\n" : absl::StrCat("><title>", XmlEscape(hint), "</title></circle>\n"));
}

void SvgWriter::Text(double x, double y, absl::string_view text, const Font& font) {
  static constexpr const char* kAnchors[] = {"start", "middle", "end"};
  absl::StrAppend(&out_, "<text x=\"", Px(x), "\" y=\"", Px(y), "\" font-size=\"", Px(font.size), "\" fill=\"",
                  font.color, "\" text-anchor=\"", kAnchors[static_cast<int>(font.anchor)], "\"");
  if (font.bold) absl::StrAppend(&out_, " font-weight=\"bold\"");
  if (font.rotation != 0) {
    absl::StrAppend(&out_, " transform=\"rotate(", Px(font.rotation), " ", Px(x), " ", Px(y), ")\"");
  }
  absl::StrAppend(&out_, ">", XmlEscape(text), "</text>\n");
}

std::string SvgWriter::Finish() {
  out_ += "</svg>\n";
  return std::move(out_);
}

}  // namespace muster::ctl
