#ifndef MUSTER_TOOLS_MUSTERCTL_VIEW_SPARK_H_
#define MUSTER_TOOLS_MUSTERCTL_VIEW_SPARK_H_

#include <string>
#include <vector>

#include "tools/musterctl/view/style.h"

namespace muster::ctl {

// The values as a line of at most `width` small bars, low to high between their least and greatest; more values than
// columns are averaged. Values that are not finite leave a blank.
std::string Sparkline(const Style& style, const std::vector<double>& values, int width);

// A bar of `width` columns, filled by `fraction` of it.
std::string ProgressBar(const Style& style, double fraction, int width);

}  // namespace muster::ctl

#endif  // MUSTER_TOOLS_MUSTERCTL_VIEW_SPARK_H_
