#ifndef MUSTER_TOOLS_MUSTERCTL_PLOT_LOSS_SERIES_H_
#define MUSTER_TOOLS_MUSTERCTL_PLOT_LOSS_SERIES_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "proto/ctl.pb.h"

namespace muster::ctl {

// What a loss curve is drawn from.
struct LossSeries {
  std::string title;
  // {step, loss}, by step.
  std::vector<std::pair<double, double>> train;
  std::vector<std::pair<double, double>> val;
  // A gang that took over, and after which step. Not the first one.
  struct Change {
    uint64_t generation = 0;
    double after_step = 0;
    // "generation 2: node lost, 3 ranks".
    std::string words;
    bool failure = false;
  };
  std::vector<Change> changes;

  // Over both curves; finite values only.
  std::pair<double, double> Steps() const;
  std::pair<double, double> Losses() const;
};

LossSeries MakeLossSeries(const v1::JobDetail& detail, const std::vector<v1::StoredStep>& steps);

}  // namespace muster::ctl

#endif  // MUSTER_TOOLS_MUSTERCTL_PLOT_LOSS_SERIES_H_
