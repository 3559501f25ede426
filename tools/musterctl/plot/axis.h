#ifndef MUSTER_TOOLS_MUSTERCTL_PLOT_AXIS_H_
#define MUSTER_TOOLS_MUSTERCTL_PLOT_AXIS_H_

#include <string>
#include <vector>

namespace muster::ctl {

// A linear axis over [low, high] with round numbers for ticks: 1, 2 or 5 times a power of ten apart.
struct Axis {
  double low = 0;
  double high = 1;
  std::vector<double> ticks;
  // Digits after the point that tell the ticks apart.
  int decimals = 0;

  // Covers [low, high] and about `count` ticks. With `widen` it begins and ends at ticks.
  static Axis Over(double low, double high, int count, bool widen);
  std::string LabelOf(double tick) const;
  // Where a value lies: 0 at low, 1 at high.
  double At(double value) const { return (value - low) / (high - low); }
};

}  // namespace muster::ctl

#endif  // MUSTER_TOOLS_MUSTERCTL_PLOT_AXIS_H_
