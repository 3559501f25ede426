#include "tools/musterctl/plot/axis.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"

namespace muster::ctl {

Axis Axis::Over(double low, double high, int count, bool widen) {
  if (!(high > low)) {
    // One value: give it some room.
    double room = low == 0 ? 1 : std::abs(low) * 0.1;
    low -= room;
    high += room;
  }
  double raw = (high - low) / std::max(1, count);
  double power = std::pow(10, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw * 0.999) {
      step = factor * power;
      break;
    }
  }
  Axis axis;
  double first = widen ? std::floor(low / step + 1e-9) : std::ceil(low / step - 1e-9);
  double last = widen ? std::ceil(high / step - 1e-9) : std::floor(high / step + 1e-9);
  axis.low = widen ? first * step : low;
  axis.high = widen ? last * step : high;
  for (double i = first; i <= last; ++i) axis.ticks.push_back(i * step);
  axis.decimals = std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9)));
  return axis;
}

std::string Axis::LabelOf(double tick) const { return absl::StrFormat("%.*f", decimals, tick == 0 ? 0.0 : tick); }

}  // namespace muster::ctl
