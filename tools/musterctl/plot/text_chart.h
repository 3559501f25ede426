#ifndef MUSTER_TOOLS_MUSTERCTL_PLOT_TEXT_CHART_H_
#define MUSTER_TOOLS_MUSTERCTL_PLOT_TEXT_CHART_H_

#include <string>

#include "tools/musterctl/plot/loss_series.h"
#include "tools/musterctl/view/style.h"

namespace muster::ctl {

// The loss curve for a terminal, style.width columns and `height` lines of plot; lines end in '\n'. In Unicode a
// character cell is 2 by 4 dots (Braille patterns), in ASCII one.
std::string LossText(const Style& style, const LossSeries& series, int height);

}  // namespace muster::ctl

#endif  // MUSTER_TOOLS_MUSTERCTL_PLOT_TEXT_CHART_H_
