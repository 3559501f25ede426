#include "tools/musterctl/view/job_detail.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/proto_time.h"
#include "tools/musterctl/view/lists.h"
#include "tools/musterctl/view/table.h"
#include "tools/musterctl/view/words.h"

namespace muster::ctl {
namespace {

constexpr int kLabelWidth = 13;
constexpr int kIndent = 2;

class DetailWriter {
 public:
  DetailWriter(const Style& style, const JobDetailOptions& options) : style_(style), options_(options) {}

  void Head(const v1::JobDetail& detail) {
    const v1::JobView& job = detail.job();
    Line("Job", Paint(style_, Color::kBold, job.job_id()));
    Line("State", StateAndReason(style_, job));
    if (job.total_steps() > 0) Line("Progress", Progress(detail));
    if (detail.spec().command_size() > 0) Line("Command", OneLine(absl::StrJoin(detail.spec().command(), " ")));
    Line("Asks for", Asks(detail.spec()));
    Line("Submitted", absl::StrCat(DateAndTime(job.submitted_at()), " (",
                                   WordsOfDuration(options_.now - FromProto(job.submitted_at())), " ago)"));
    if (job.has_finished_at()) {
      absl::Duration took = FromProto(job.finished_at()) - FromProto(job.submitted_at());
      Line("Finished", absl::StrCat(DateAndTime(job.finished_at()), " (", WordsOfDuration(took), " after)"));
    }
    const v1::RestartCounters& restarts = job.restarts();
    Line("Restarts", absl::StrFormat("%d in all; of the budgets in use: user %d of %d, infrastructure %d of %d",
                                     restarts.total(), restarts.user(), detail.spec().restarts().user(),
                                     restarts.infrastructure(), detail.spec().restarts().infrastructure()));
  }

  void Ranks(const v1::JobDetail& detail) {
    if (detail.ranks().empty()) return;
    Title(absl::StrCat("Ranks of generation ", detail.job().generation()));
    Table table({{"RANK", true}, {"NODE"}, {"LOCAL", true}, {"STATE"}, {"PID", true}});
    for (const v1::RankView& rank : detail.ranks()) {
      table.Add({absl::StrCat(rank.rank()), rank.node_id(), absl::StrCat(rank.local_rank()),
                 Paint(style_, ColorOf(rank.state()), WordOf(rank.state())),
                 rank.pid() > 0 ? absl::StrCat(rank.pid()) : "-"});
    }
    out_ += table.Render(style_, kIndent);
  }

  void Generations(const v1::JobDetail& detail) {
    if (detail.generations().empty()) return;
    Title("Generations (milliseconds after what led to them was seen)");
    Table table({{"GEN", true},
                 {"CAUSE"},
                 {"NODES", true},
                 {"RANKS", true},
                 {"FROM STEP", true},
                 {"REDONE", true},
                 {"DECIDED", true},
                 {"RANKS GIVEN", true},
                 {"WORKERS UP", true},
                 {"FIRST STEP", true}});
    for (const v1::StoredGeneration& g : detail.generations()) {
      const v1::GenerationTimeline& t = g.timeline();
      auto after = [&](const google::protobuf::Timestamp& to, bool has) {
        return MillisecondsAfter(t.detected(), t.has_detected(), to, has);
      };
      table.Add({absl::StrCat(g.generation()), WordOf(g.cause()), absl::StrCat(g.nodes_size()),
                 absl::StrCat(g.world_size()), absl::StrCat(g.restore_step()), absl::StrCat(g.steps_redone()),
                 after(t.decided(), t.has_decided()), after(t.ranks_given(), t.has_ranks_given()),
                 after(t.workers_up(), t.has_workers_up()), after(t.first_step(), t.has_first_step())});
    }
    out_ += table.Render(style_, kIndent);
    for (const v1::StoredGeneration& g : detail.generations()) {
      std::string number = PadLeft(absl::StrCat(g.generation()), 3);
      Text(absl::StrCat(number, "  ", Paint(style_, Color::kDim, "began "), TimeOfDay(g.timeline().decided()), "  ",
                        OneLine(g.reason())));
      if (g.end_reason().empty()) continue;
      Text(absl::StrCat("     ", Paint(style_, Color::kDim, "ended "), TimeOfDay(g.timeline().ended()), "  ",
                        OneLine(g.end_reason())));
    }
  }

  void Failure(const v1::JobDetail& detail) {
    // The job's own, or else that of the newest generation that had one.
    const v1::FailureReport* failure = detail.has_failure() ? &detail.failure() : nullptr;
    for (auto g = detail.generations().rbegin(); failure == nullptr && g != detail.generations().rend(); ++g) {
      if (g->has_failure()) failure = &g->failure();
    }
    if (failure == nullptr) return;
    Title(detail.has_failure() ? "Failure" : "Last failure");
    Text(Paint(style_, Color::kRed, OneLine(failure->message())));
    if (failure->node_id().empty()) return;
    std::string who =
        absl::StrFormat("rank %d on %s in generation %d", failure->rank(), failure->node_id(), failure->generation());
    if (failure->has_exit()) absl::StrAppend(&who, ": ", OneLine(WordsOfExit(failure->exit())));
    Text(who);
    if (failure->exit().last_lines().empty()) return;
    Text("its last lines:");
    for (const std::string& line : failure->exit().last_lines()) Text(absl::StrCat("  | ", OneLine(line)));
  }

  void Checkpoints(const std::vector<v1::StoredCheckpoint>& checkpoints) {
    if (checkpoints.empty()) return;
    Title("Checkpoints");
    for (absl::string_view line : absl::StrSplit(RenderCheckpoints(style_, checkpoints, options_.now), '\n')) {
      if (!line.empty()) Text(line);
    }
  }

  void Sample(const v1::JobDetail& detail) {
    if (detail.sample().empty()) return;
    Title("Newest sample");
    for (absl::string_view line : absl::StrSplit(detail.sample(), '\n')) Text(absl::StrCat("| ", OneLine(line)));
  }

  void Events(const v1::JobDetail& detail) {
    int count = detail.events_size();
    if (count == 0) return;
    int shown = options_.events == 0 ? count : std::min(count, options_.events);
    Title(shown == count ? "Events"
                         : absl::StrFormat("Events (the newest %d of %d; --events 0 shows all)", shown, count));
    for (int i = count - shown; i < count; ++i) Text(RenderEvent(style_, detail.events(i)));
  }

  std::string Take() { return std::move(out_); }

 private:
  void Line(absl::string_view label, absl::string_view value) {
    Text(absl::StrCat(Paint(style_, Color::kDim, PadRight(label, kLabelWidth)), value), 0);
  }
  void Title(absl::string_view title) { absl::StrAppend(&out_, "\n", Paint(style_, Color::kBold, title), "\n"); }
  void Text(absl::string_view text, int indent = kIndent) {
    absl::StrAppend(&out_, std::string(indent, ' '), text, "\n");
  }

  static std::string Progress(const v1::JobDetail& detail) {
    const v1::JobView& job = detail.job();
    std::string text = absl::StrFormat("step %d of %d (%d%%)", job.step(), job.total_steps(),
                                       100 * job.step() / std::max<int64_t>(1, job.total_steps()));
    if (job.step() > 0) absl::StrAppendFormat(&text, ", loss %.4f", job.loss());
    if (detail.val_loss() != 0) absl::StrAppendFormat(&text, ", validation loss %.4f", detail.val_loss());
    if (job.tokens_per_second() > 0 && !IsFinished(job.state())) {
      absl::StrAppend(&text, ", ", WithCommas(static_cast<int64_t>(job.tokens_per_second())), " tokens/s");
    }
    if (job.committed_step() > 0) absl::StrAppend(&text, ", checkpoint at step ", job.committed_step());
    return text;
  }

  static std::string Asks(const v1::JobSpec& spec) {
    std::string nodes = spec.nodes().min() == spec.nodes().max()
                            ? Count(spec.nodes().min(), "node")
                            : absl::StrFormat("%d to %d nodes", spec.nodes().min(), spec.nodes().max());
    return absl::StrCat(nodes, " with ", Count(spec.slots_per_node(), absl::StrCat(WordOf(spec.device()), " slot")),
                        spec.nodes().max() > 1 ? " each" : "");
  }

  const Style& style_;
  const JobDetailOptions& options_;
  std::string out_;
};

Color ColorOfEvent(const std::string& type) {
  for (const char* bad : {"Lost", "Failed", "NotPrepared", "NotPublished"}) {
    if (absl::StrContains(type, bad)) return Color::kRed;
  }
  for (const char* good : {"WorkersUp", "FirstStep", "JobSucceeded", "CheckpointCommitted", "CheckpointPublished"}) {
    if (type == good) return Color::kGreen;
  }
  return type == "GenerationDecided" ? Color::kCyan : Color::kNone;
}

}  // namespace

std::string RenderEvent(const Style& style, const v1::StoredEvent& event) {
  return absl::StrCat(TimeOfDay(event.at()), "  ", PadRight(Paint(style, ColorOfEvent(event.type()), event.type()), 19),
                      "  ", OneLine(event.message()));
}

std::string RenderJobDetail(const Style& style, const v1::JobDetail& detail,
                            const std::vector<v1::StoredCheckpoint>& checkpoints, const JobDetailOptions& options) {
  DetailWriter writer(style, options);
  writer.Head(detail);
  writer.Ranks(detail);
  writer.Generations(detail);
  writer.Failure(detail);
  writer.Checkpoints(checkpoints);
  writer.Sample(detail);
  writer.Events(detail);
  return writer.Take();
}

}  // namespace muster::ctl
