#ifndef MUSTER_TOOLS_MUSTERCTL_VIEW_WATCH_VIEW_H_
#define MUSTER_TOOLS_MUSTERCTL_VIEW_WATCH_VIEW_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tools/musterctl/view/style.h"
#include "tools/musterctl/view/watch_model.h"

namespace muster::ctl {

// The live view, at most style.width columns (80 if that is 0) and `height` lines (0: no limit) of it, without '\n'.
// Pure.
std::vector<std::string> RenderWatch(const Style& style, const WatchModel& model, absl::Time now, int height);

// One line of progress, for output that is not a terminal: "step 240/500 (48%)  loss 2.1043  12,345 tokens/s".
std::string RenderProgressLine(const WatchModel& model);

// Time to the last step at the speed of the newest steps; zero when unknown.
absl::Duration TimeLeft(const WatchModel& model);

}  // namespace muster::ctl

#endif  // MUSTER_TOOLS_MUSTERCTL_VIEW_WATCH_VIEW_H_
