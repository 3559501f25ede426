#ifndef MUSTER_TOOLS_MUSTERCTL_PLOT_LOSS_PLOT_H_
#define MUSTER_TOOLS_MUSTERCTL_PLOT_LOSS_PLOT_H_

#include <string>

#include "tools/musterctl/plot/loss_series.h"

namespace muster::ctl {

// The loss curve as an SVG document: training and validation loss over steps, and where the gang changed.
std::string LossSvg(const LossSeries& series);

}  // namespace muster::ctl

#endif  // MUSTER_TOOLS_MUSTERCTL_PLOT_LOSS_PLOT_H_
