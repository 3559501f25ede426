#include "tools/musterctl/plot/loss_series.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "tools/musterctl/view/words.h"

namespace muster::ctl {
namespace {

std::pair<double, double> RangeOf(const LossSeries& series, double std::pair<double, double>::*part) {
  double low = INFINITY;
  double high = -INFINITY;
  for (const auto* curve : {&series.train, &series.val}) {
    for (const auto& point : *curve) {
      if (!std::isfinite(point.*part)) continue;
      low = std::min(low, point.*part);
      high = std::max(high, point.*part);
    }
  }
  if (low > high) return {0, 1};
  return {low, high};
}

}  // namespace

std::pair<double, double> LossSeries::Steps() const { return RangeOf(*this, &std::pair<double, double>::first); }
std::pair<double, double> LossSeries::Losses() const { return RangeOf(*this, &std::pair<double, double>::second); }

LossSeries MakeLossSeries(const v1::JobDetail& detail, const std::vector<v1::StoredStep>& steps) {
  LossSeries series;
  series.title = absl::StrCat("Loss of ", detail.job().job_id());
  for (const v1::StoredStep& step : steps) {
    const v1::StepMetrics& m = step.metrics();
    series.train.emplace_back(m.step(), m.loss());
    if (m.has_val_loss()) series.val.emplace_back(m.step(), m.val_loss());
  }
  for (const v1::StoredGeneration& g : detail.generations()) {
    if (g.cause() == v1::CAUSE_FIRST_START) continue;
    series.changes.push_back(
        {g.generation(), static_cast<double>(g.restore_step()),
         absl::StrCat("generation ", g.generation(), ": ", WordOf(g.cause()), ", ", Count(g.world_size(), "rank")),
         g.cause() != v1::CAUSE_GROWTH});
  }
  return series;
}

}  // namespace muster::ctl
