#include "tools/musterctl/commands/plot.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tools/musterctl/json.h"
#include "tools/musterctl/plot/loss_plot.h"
#include "tools/musterctl/plot/loss_series.h"
#include "tools/musterctl/plot/text_chart.h"
#include "tools/musterctl/plot/timeline_plot.h"

namespace muster::ctl {
namespace {

constexpr int kDefaultWidth = 80;
constexpr int kChartHeight = 16;

absl::Status Deliver(Session& session, const std::string& path, const std::string& svg) {
  MUSTER_RETURN_IF_ERROR(WriteFileAtomically(session.files, path, svg));
  *session.out << "wrote " << path << "\n";
  return absl::OkStatus();
}

absl::StatusOr<ExitCode> PlotTimeline(Session& session, const PlotOptions& options, const v1::JobDetail& detail) {
  for (const v1::StoredGeneration& generation : detail.generations()) {
    if (generation.generation() != *options.timeline) continue;
    if (session.json) {
      *session.out << ToJson(generation);
    } else if (options.output.empty()) {
      *session.out << TimelineText(session.style, generation);
    } else {
      MUSTER_RETURN_IF_ERROR(Deliver(session, options.output, TimelineSvg(detail.job().job_id(), generation)));
    }
    return ExitCode::kOk;
  }
  return absl::NotFoundError(absl::StrCat(detail.job().job_id(), " has no generation ", *options.timeline,
                                          "; the newest is ", detail.job().generation()));
}

}  // namespace

absl::StatusOr<ExitCode> RunPlot(Session& session, const PlotOptions& options) {
  MUSTER_ASSIGN_OR_RETURN(CtlClient * client, session.connect());
  MUSTER_ASSIGN_OR_RETURN(v1::JobDetail detail, client->GetJob(options.job));
  if (options.timeline.has_value()) return PlotTimeline(session, options, detail);

  MUSTER_ASSIGN_OR_RETURN(std::vector<v1::StoredStep> steps, client->GetMetrics(detail.job().job_id()));
  if (session.json) {
    v1::StoredMetrics metrics;
    metrics.set_job_id(detail.job().job_id());
    metrics.mutable_steps()->Add(steps.begin(), steps.end());
    *session.out << ToJson(metrics);
    return ExitCode::kOk;
  }
  if (steps.empty()) {
    return absl::NotFoundError(absl::StrCat(detail.job().job_id(), " has no steps to draw yet",
                                            detail.job().total_steps() == 0 ? "; it runs a command, whose loss Muster "
                                                                              "does not see"
                                                                            : "; wait for its first one"));
  }
  LossSeries series = MakeLossSeries(detail, steps);
  if (!options.output.empty()) {
    MUSTER_RETURN_IF_ERROR(Deliver(session, options.output, LossSvg(series)));
    return ExitCode::kOk;
  }
  Style style = session.style;
  if (style.width == 0) style.width = kDefaultWidth;
  *session.out << LossText(style, series, kChartHeight);
  return ExitCode::kOk;
}

}  // namespace muster::ctl
