#include "tools/musterctl/plot/timeline_plot.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "common/proto_time.h"
#include "tools/musterctl/plot/axis.h"
#include "tools/musterctl/plot/svg.h"
#include "tools/musterctl/view/words.h"

namespace muster::ctl {
namespace {

constexpr double kWidth = 900;
constexpr double kLeft = 150;
constexpr double kRight = 150;
constexpr double kTop = 112;
constexpr double kRow = 38;
constexpr const char* kColors[] = {"#c0392b", "#d9730d", "#1f6fb4", "#2e8b57"};
constexpr size_t kLineLength = 125;

std::string Headline(const v1::StoredGeneration& g) {
  return absl::StrFormat("generation %d, %s: %s, from step %d, %s redone", g.generation(), WordOf(g.cause()),
                         Count(g.world_size(), "rank"), g.restore_step(), Count(g.steps_redone(), "step"));
}

// Lines of at most kLineLength bytes, broken at spaces.
std::vector<std::string> Wrap(const std::string& text) {
  std::vector<std::string> lines = {""};
  for (absl::string_view word : absl::StrSplit(text, ' ')) {
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > kLineLength) lines.emplace_back();
    absl::StrAppend(&lines.back(), lines.back().empty() ? "" : " ", word);
  }
  return lines;
}

}  // namespace

std::vector<TimelinePhase> PhasesOf(const v1::GenerationTimeline& t) {
  if (!t.has_detected()) return {};
  struct Mark {
    const char* name;
    bool has;
    const google::protobuf::Timestamp& at;
  };
  const Mark marks[] = {{"decide, store", t.has_decided(), t.decided()},
                        {"prepare agents", t.has_ranks_given(), t.ranks_given()},
                        {"start, join", t.has_workers_up(), t.workers_up()},
                        {"restore, step", t.has_first_step(), t.first_step()}};
  std::vector<TimelinePhase> phases;
  double begin = 0;
  for (const Mark& mark : marks) {
    if (!mark.has) break;
    double end = std::max(begin, absl::ToDoubleMilliseconds(FromProto(mark.at) - FromProto(t.detected())));
    phases.push_back({mark.name, begin, end});
    begin = end;
  }
  return phases;
}

std::string TimelineSvg(const std::string& job_id, const v1::StoredGeneration& g) {
  std::vector<TimelinePhase> phases = PhasesOf(g.timeline());
  std::vector<std::string> reason = Wrap(g.reason());
  if (reason.size() > 2) reason.resize(2);
  double height = kTop + kRow * static_cast<double>(std::max<size_t>(1, phases.size())) + 50;
  SvgWriter svg(kWidth, height, absl::StrCat(job_id, ", ", Headline(g)));
  svg.Text(20, 28, absl::StrCat(job_id, ", generation ", g.generation()),
           {.size = 17, .color = "#111111", .bold = true});
  svg.Text(20, 50, Headline(g), {.size = 12});
  for (size_t i = 0; i < reason.size(); ++i) {
    svg.Text(20, 70 + 16 * static_cast<double>(i), reason[i], {.size = 12, .color = "#666666"});
  }
  if (phases.empty()) {
    svg.Text(20, kTop + 20, "nothing measured yet", {});
    return svg.Finish();
  }
  Axis x = Axis::Over(0, std::max(1.0, phases.back().end_ms), 8, /*widen=*/false);
  auto at = [&](double ms) { return kLeft + x.At(ms) * (kWidth - kLeft - kRight); };
  double bottom = kTop + kRow * static_cast<double>(phases.size());
  for (double tick : x.ticks) {
    svg.Line(at(tick), kTop - 6, at(tick), bottom, {.color = "#e4e4e4"});
    svg.Text(at(tick), bottom + 18, x.LabelOf(tick), {.color = "#666666", .anchor = SvgWriter::Anchor::kMiddle});
  }
  svg.Text((kLeft + kWidth - kRight) / 2, bottom + 38, "milliseconds after detection",
           {.size = 13, .anchor = SvgWriter::Anchor::kMiddle});
  svg.Line(kLeft, kTop - 6, kLeft, bottom, {.color = kColors[0], .width = 2});
  for (size_t i = 0; i < phases.size(); ++i) {
    const TimelinePhase& phase = phases[i];
    double y = kTop + kRow * static_cast<double>(i);
    svg.Text(kLeft - 10, y + 20, phase.name, {.size = 13, .anchor = SvgWriter::Anchor::kEnd});
    // A phase of no length is still to be seen.
    svg.Rect(at(phase.begin_ms), y + 6, std::max(2.0, at(phase.end_ms) - at(phase.begin_ms)), kRow - 14,
             kColors[i % std::size(kColors)], 3);
    svg.Text(at(phase.end_ms) + 8, y + 20,
             absl::StrFormat("%.0f ms (at %.0f)", phase.end_ms - phase.begin_ms, phase.end_ms), {.size = 12});
  }
  return svg.Finish();
}

std::string TimelineText(const Style& style, const v1::StoredGeneration& g) {
  constexpr int kBar = 40;
  std::string out = absl::StrCat(Paint(style, Color::kBold, Headline(g)), "\n", g.reason(), "\n");
  std::vector<TimelinePhase> phases = PhasesOf(g.timeline());
  if (phases.empty()) return absl::StrCat(out, "nothing measured yet\n");
  double scale = kBar / std::max(1.0, phases.back().end_ms);
  for (const TimelinePhase& phase : phases) {
    int begin = std::min(kBar - 1, static_cast<int>(std::lround(phase.begin_ms * scale)));
    int length = std::max(1, static_cast<int>(std::lround(phase.end_ms * scale)) - begin);
    std::string bar;
    for (int i = 0; i < length; ++i) bar += style.unicode ? "█" : "#";
    absl::StrAppend(&out, "  ", PadRight(phase.name, 15), std::string(begin, ' '), Paint(style, Color::kCyan, bar),
                    std::string(std::max(0, kBar - begin - length), ' '),
                    absl::StrFormat("  %6.0f ms, at %.0f\n", phase.end_ms - phase.begin_ms, phase.end_ms));
  }
  return out;
}

}  // namespace muster::ctl
