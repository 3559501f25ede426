#include "tools/musterctl/plot/loss_plot.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_format.h"
#include "tools/musterctl/plot/axis.h"
#include "tools/musterctl/plot/svg.h"

namespace muster::ctl {
namespace {

constexpr double kWidth = 900;
constexpr double kHeight = 480;
constexpr double kLeft = 70;
constexpr double kRight = 30;
constexpr double kTop = 60;
constexpr double kBottom = 60;

constexpr char kTrainColor[] = "#1f6fb4";
constexpr char kValColor[] = "#d9730d";
constexpr char kFailureColor[] = "#c0392b";
constexpr char kGrowthColor[] = "#2e8b57";
constexpr char kGridColor[] = "#e4e4e4";
constexpr char kAxisColor[] = "#666666";

class LossPlot {
 public:
  explicit LossPlot(const LossSeries& series)
      : series_(series),
        svg_(kWidth, kHeight, series.title),
        x_(Axis::Over(std::min(0.0, series.Steps().first), series.Steps().second, 10, /*widen=*/false)),
        y_(Axis::Over(series.Losses().first, series.Losses().second, 6, /*widen=*/true)) {}

  std::string Draw() {
    Grid();
    Changes();
    Curves();
    Legend();
    return svg_.Finish();
  }

 private:
  double X(double step) const { return kLeft + x_.At(step) * (kWidth - kLeft - kRight); }
  double Y(double loss) const { return kHeight - kBottom - y_.At(loss) * (kHeight - kTop - kBottom); }

  void Grid() {
    for (double tick : y_.ticks) {
      svg_.Line(kLeft, Y(tick), kWidth - kRight, Y(tick), {.color = kGridColor});
      svg_.Text(kLeft - 8, Y(tick) + 4, y_.LabelOf(tick), {.color = kAxisColor, .anchor = SvgWriter::Anchor::kEnd});
    }
    for (double tick : x_.ticks) {
      svg_.Line(X(tick), kTop, X(tick), kHeight - kBottom, {.color = kGridColor});
      svg_.Text(X(tick), kHeight - kBottom + 18, x_.LabelOf(tick),
                {.color = kAxisColor, .anchor = SvgWriter::Anchor::kMiddle});
    }
    svg_.Line(kLeft, kTop, kLeft, kHeight - kBottom, {.color = kAxisColor});
    svg_.Line(kLeft, kHeight - kBottom, kWidth - kRight, kHeight - kBottom, {.color = kAxisColor});
    svg_.Text((kLeft + kWidth - kRight) / 2, kHeight - 16, "optimizer step",
              {.size = 13, .anchor = SvgWriter::Anchor::kMiddle});
    svg_.Text(20, (kTop + kHeight - kBottom) / 2, "loss (nats a token)",
              {.size = 13, .anchor = SvgWriter::Anchor::kMiddle, .rotation = -90});
    svg_.Text(kLeft, 28, series_.title, {.size = 17, .color = "#111111", .bold = true});
  }

  void Changes() {
    // Labels of neighbours take turns in height, so that they do not cover each other.
    int row = 0;
    for (const LossSeries::Change& change : series_.changes) {
      const char* color = change.failure ? kFailureColor : kGrowthColor;
      double x = X(change.after_step);
      svg_.Line(x, kTop, x, kHeight - kBottom, {.color = color, .dashes = "5,4"});
      double y = kTop + 14 + 16 * (row++ % 4);
      bool left_half = x < (kLeft + kWidth - kRight) * 0.7;
      svg_.Text(
          left_half ? x + 5 : x - 5, y, change.words,
          {.size = 11, .color = color, .anchor = left_half ? SvgWriter::Anchor::kStart : SvgWriter::Anchor::kEnd});
    }
  }

  std::vector<std::pair<double, double>> Place(const std::vector<std::pair<double, double>>& curve) const {
    std::vector<std::pair<double, double>> points;
    for (const auto& [step, loss] : curve) points.emplace_back(X(step), Y(loss));
    return points;
  }

  void Curves() {
    svg_.Polyline(Place(series_.train), {.color = kTrainColor, .width = 1.6});
    svg_.Polyline(Place(series_.val), {.color = kValColor, .width = 2});
    for (const auto& [step, loss] : series_.val) {
      if (!std::isfinite(loss)) continue;
      svg_.Dot(X(step), Y(loss), 3.5, kValColor, absl::StrFormat("step %.0f: validation loss %.4f", step, loss));
    }
  }

  void Legend() {
    double x = kWidth - kRight;
    auto entry = [&](const char* color, const std::vector<std::pair<double, double>>& curve, const char* name) {
      if (curve.empty()) return;
      std::string text = absl::StrFormat("%s %.4f", name, curve.back().second);
      double width = 28 + 7.2 * static_cast<double>(text.size());
      x -= width;
      svg_.Line(x, 24, x + 18, 24, {.color = color, .width = 3});
      svg_.Text(x + 24, 28, text, {});
    };
    entry(kValColor, series_.val, "validation");
    entry(kTrainColor, series_.train, "training");
  }

  const LossSeries& series_;
  SvgWriter svg_;
  const Axis x_;
  const Axis y_;
};

}  // namespace

std::string LossSvg(const LossSeries& series) { return LossPlot(series).Draw(); }

}  // namespace muster::ctl
