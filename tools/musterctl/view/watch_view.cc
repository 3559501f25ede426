#include "tools/musterctl/view/watch_view.h"

#include <algorithm>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/proto_time.h"
#include "tools/musterctl/view/job_detail.h"
#include "tools/musterctl/view/spark.h"
#include "tools/musterctl/view/words.h"

namespace muster::ctl {
namespace {

constexpr int kDefaultWidth = 80;
constexpr int kLabel = 7;
constexpr int kMaxEvents = 6;
constexpr int kMaxNodes = 12;
// Steps that the speed is taken over.
constexpr int kSpeedSteps = 20;

// The steps up to where the job is now: those that it has to do again lie behind it once more.
std::vector<v1::StoredStep> StepsSoFar(const WatchModel& model) {
  std::vector<v1::StoredStep> steps;
  for (const auto& [number, step] : model.steps()) {
    if (number <= model.job().step()) steps.push_back(step);
  }
  return steps;
}

// Told by the other lines of the view, and so frequent that they would push out what matters.
bool IsRoutine(const v1::StoredEvent& event) {
  return event.type() == "CheckpointCommitted" || event.type() == "CheckpointPublished" ||
         event.type() == "CheckpointRemoved";
}

// Seconds a step, over the newest steps of the current generation; 0 when unknown.
double SecondsPerStep(const WatchModel& model) {
  double seconds = 0;
  int count = 0;
  std::vector<v1::StoredStep> steps = StepsSoFar(model);
  for (auto step = steps.rbegin(); step != steps.rend() && count < kSpeedSteps; ++step) {
    if (step->generation() != model.job().generation()) break;
    seconds += step->metrics().step_seconds();
    ++count;
  }
  return count > 0 ? seconds / count : 0;
}

class WatchWriter {
 public:
  WatchWriter(const Style& style, const WatchModel& model, absl::Time now) : style_(style), model_(model), now_(now) {
    if (style_.width == 0) style_.width = kDefaultWidth;
  }

  void Head() {
    const v1::JobView& job = model_.job();
    std::string dot = style_.unicode ? " · " : ", ";
    std::string left = absl::StrCat(Paint(style_, Color::kBold, job.job_id()), "  ",
                                    Paint(style_, ColorOf(job.state()), absl::AsciiStrToUpper(WordOf(job.state()))));
    if (job.generation() > 0) absl::StrAppend(&left, "  generation ", job.generation());
    if (job.nodes() > 0) absl::StrAppend(&left, dot, Count(job.nodes(), "node"), dot, Count(job.world_size(), "rank"));
    absl::Time end = job.has_finished_at() ? FromProto(job.finished_at()) : now_;
    std::string right = Paint(style_, Color::kDim, WordsOfDuration(end - FromProto(job.submitted_at())));
    int gap = style_.width - DisplayWidth(left) - DisplayWidth(right);
    Line(gap >= 2 ? absl::StrCat(left, std::string(gap, ' '), right) : left);
    if (!job.reason().empty()) Line(Paint(style_, Color::kDim, OneLine(job.reason())));
  }

  void Progress() {
    const v1::JobView& job = model_.job();
    if (job.total_steps() == 0) return;
    double fraction = static_cast<double>(job.step()) / static_cast<double>(job.total_steps());
    // Fixed places for the numbers, so that the bar does not change its length with them.
    int digits = static_cast<int>(absl::StrCat(job.total_steps()).size());
    std::string after =
        absl::StrFormat("  step %*d/%d %3d%%", digits, job.step(), job.total_steps(), static_cast<int>(fraction * 100));
    absl::Duration left = TimeLeft(model_);
    std::string eta =
        left > absl::ZeroDuration() && !IsFinished(job.state()) ? absl::StrCat("  ETA ", WordsOfDuration(left)) : "";
    constexpr int kEtaWidth = 12;
    int bar = style_.width - DisplayWidth(after) - kEtaWidth;
    Line("");
    Line(absl::StrCat(ProgressBar(style_, fraction, std::max(10, bar)), after, eta));
  }

  void Loss() {
    const v1::JobView& job = model_.job();
    if (job.total_steps() == 0) return;
    std::vector<double> losses;
    for (const v1::StoredStep& step : StepsSoFar(model_)) losses.push_back(step.metrics().loss());
    std::string text = Label("loss");
    if (losses.empty()) {
      absl::StrAppend(&text, "-");
    } else {
      std::string value = absl::StrFormat("%.4f", losses.back());
      std::string val =
          model_.newest_val_loss() != 0 ? absl::StrFormat("validation %.4f", model_.newest_val_loss()) : "";
      int room = style_.width - kLabel - DisplayWidth(value) - (val.empty() ? 0 : DisplayWidth(val) + 2) - 2;
      absl::StrAppend(&text, Paint(style_, Color::kBold, value), "  ",
                      Paint(style_, Color::kCyan, Sparkline(style_, losses, room)));
      if (!val.empty()) absl::StrAppend(&text, "  ", val);
    }
    Line(text);
    text = Label("speed");
    double per_step = SecondsPerStep(model_);
    absl::StrAppend(&text, WithCommas(static_cast<int64_t>(job.tokens_per_second())), " tokens/s");
    if (per_step > 0) absl::StrAppendFormat(&text, "  %.0f ms a step", per_step * 1000);
    if (job.committed_step() > 0) absl::StrAppend(&text, "  checkpoint at step ", job.committed_step());
    if (job.restarts().total() > 0) absl::StrAppend(&text, "  ", Count(job.restarts().total(), "restart"));
    Line(text);
  }

  void Nodes() {
    std::map<std::string, std::vector<v1::RankView>> ranks;
    for (const v1::RankView& rank : model_.latest().ranks()) ranks[rank.node_id()].push_back(rank);
    if (model_.latest().nodes().empty()) return;
    // Those with ranks first, then by name; what does not fit is counted.
    std::vector<v1::NodeView> nodes(model_.latest().nodes().begin(), model_.latest().nodes().end());
    std::stable_sort(nodes.begin(), nodes.end(), [&](const v1::NodeView& a, const v1::NodeView& b) {
      return (ranks.count(a.node_id()) > 0) > (ranks.count(b.node_id()) > 0);
    });
    Line("");
    int name_width = 0;
    for (const v1::NodeView& node : nodes) name_width = std::max(name_width, DisplayWidth(node.node_id()));
    name_width = std::min(name_width, 24);
    int shown = 0;
    for (const v1::NodeView& node : nodes) {
      if (shown == kMaxNodes) {
        Line(Paint(style_, Color::kDim, absl::StrFormat("  and %d more", static_cast<int>(nodes.size()) - shown)));
        break;
      }
      ++shown;
      std::string dot = Paint(style_, ColorOf(node.state()), style_.unicode ? "●" : "*");
      std::string text =
          absl::StrCat(dot, " ", PadRight(Truncate(style_, node.node_id(), name_width), name_width), "  ");
      auto own = ranks.find(node.node_id());
      if (own != ranks.end()) absl::StrAppend(&text, WordsOfRanks(own->second));
      if (own == ranks.end() && node.state() == v1::NODE_READY)
        absl::StrAppend(&text, Paint(style_, Color::kDim, "free"));
      if (node.state() != v1::NODE_READY) {
        absl::StrAppend(&text, own != ranks.end() ? "  " : "",
                        Paint(style_, ColorOf(node.state()), WordOf(node.state())));
        if (!node.reason().empty()) absl::StrAppend(&text, ": ", OneLine(node.reason()));
      }
      Line(text);
    }
  }

  void Events(int room) {
    std::vector<const v1::StoredEvent*> events;
    for (const auto& [seq, event] : model_.events()) {
      if (!IsRoutine(event)) events.push_back(&event);
    }
    size_t count = std::min<size_t>(events.size(), std::clamp(room, 0, kMaxEvents));
    if (count == 0) return;
    Line("");
    for (size_t i = events.size() - count; i < events.size(); ++i) Line(RenderEvent(style_, *events[i]));
  }

  int lines() const { return static_cast<int>(lines_.size()); }
  std::vector<std::string> Take() { return std::move(lines_); }

 private:
  std::string Label(absl::string_view name) { return Paint(style_, Color::kDim, PadRight(name, kLabel)); }
  void Line(const std::string& text) { lines_.push_back(Truncate(style_, text, style_.width)); }

  // "rank 2 running", "ranks 0-3 running", "ranks 0,1 running  2 joining".
  std::string WordsOfRanks(const std::vector<v1::RankView>& ranks) const {
    std::map<v1::WorkerState, std::vector<int>> by_state;
    for (const v1::RankView& rank : ranks) by_state[rank.state()].push_back(rank.rank());
    std::vector<std::string> parts;
    for (auto& [state, numbers] : by_state) {
      std::sort(numbers.begin(), numbers.end());
      bool run = numbers.size() > 2 && numbers.back() - numbers.front() + 1 == static_cast<int>(numbers.size());
      std::string which = run ? absl::StrCat(numbers.front(), "-", numbers.back()) : absl::StrJoin(numbers, ",");
      parts.push_back(absl::StrCat(numbers.size() == 1 ? "rank " : "ranks ", which, " ",
                                   Paint(style_, ColorOf(state), WordOf(state))));
    }
    return absl::StrJoin(parts, "  ");
  }

  Style style_;
  const WatchModel& model_;
  absl::Time now_;
  std::vector<std::string> lines_;
};

}  // namespace

absl::Duration TimeLeft(const WatchModel& model) {
  int64_t steps = model.job().total_steps() - model.job().step();
  return steps > 0 ? absl::Seconds(SecondsPerStep(model) * static_cast<double>(steps)) : absl::ZeroDuration();
}

std::vector<std::string> RenderWatch(const Style& style, const WatchModel& model, absl::Time now, int height) {
  WatchWriter writer(style, model, now);
  writer.Head();
  writer.Progress();
  writer.Loss();
  writer.Nodes();
  writer.Events(height == 0 ? kMaxEvents : height - writer.lines() - 1);
  std::vector<std::string> lines = writer.Take();
  if (height > 0 && static_cast<int>(lines.size()) > height) lines.resize(height);
  return lines;
}

std::string RenderProgressLine(const WatchModel& model) {
  const v1::JobView& job = model.job();
  if (job.total_steps() == 0) return absl::StrCat(WordOf(job.state()), ", generation ", job.generation());
  std::string text =
      absl::StrFormat("step %d/%d (%d%%)", job.step(), job.total_steps(), 100 * job.step() / job.total_steps());
  if (job.loss() != 0) absl::StrAppendFormat(&text, "  loss %.4f", job.loss());
  if (model.newest_val_loss() != 0) absl::StrAppendFormat(&text, "  validation %.4f", model.newest_val_loss());
  absl::StrAppend(&text, "  ", WithCommas(static_cast<int64_t>(job.tokens_per_second())), " tokens/s  ",
                  Count(job.world_size(), "rank"));
  if (absl::Duration left = TimeLeft(model); left > absl::ZeroDuration()) {
    absl::StrAppend(&text, "  ETA ", WordsOfDuration(left));
  }
  return text;
}

}  // namespace muster::ctl
