#ifndef MUSTER_TOOLS_MUSTERCTL_PLOT_TIMELINE_PLOT_H_
#define MUSTER_TOOLS_MUSTERCTL_PLOT_TIMELINE_PLOT_H_

#include <string>
#include <vector>

#include "proto/store.pb.h"
#include "tools/musterctl/view/style.h"

namespace muster::ctl {

// A stretch of a recovery, in milliseconds after what led to it was seen.
struct TimelinePhase {
  std::string name;
  double begin_ms = 0;
  double end_ms = 0;
};

// detected -> decided -> ranks given -> workers up -> first step, as far as it has come.
std::vector<TimelinePhase> PhasesOf(const v1::GenerationTimeline& timeline);

// How a generation came to be, as an SVG document, and as text (lines that end in '\n').
std::string TimelineSvg(const std::string& job_id, const v1::StoredGeneration& generation);
std::string TimelineText(const Style& style, const v1::StoredGeneration& generation);

}  // namespace muster::ctl

#endif  // MUSTER_TOOLS_MUSTERCTL_PLOT_TIMELINE_PLOT_H_
