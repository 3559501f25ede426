#include "tools/musterctl/view/watch_model.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace muster::ctl {

void WatchModel::Add(const v1::JobSnapshot& snapshot) {
  latest_ = snapshot;
  for (const v1::StoredStep& step : snapshot.steps()) {
    v1::StoredStep& kept = steps_[step.metrics().step()];
    if (step.generation() >= kept.generation()) kept = step;
  }
  latest_.clear_steps();
  newest_val_loss_ = 0;
  for (auto it = steps_.rbegin(); it != steps_.rend(); ++it) {
    if (!it->second.metrics().has_val_loss()) continue;
    newest_val_loss_ = it->second.metrics().val_loss();
    break;
  }
  new_events_.clear();
  for (const v1::StoredEvent& event : snapshot.events()) {
    if (events_.emplace(event.seq(), event).second) new_events_.push_back(event);
  }
  latest_.clear_events();
}

absl::StatusOr<WatchGoal> WatchGoal::Parse(absl::string_view text) {
  if (text == "end") return WatchGoal{Kind::kEnd, 0};
  if (text == "running") return WatchGoal{Kind::kRunning, 0};
  for (auto [prefix, kind] : {std::pair("step:", Kind::kStep), std::pair("generation:", Kind::kGeneration)}) {
    absl::string_view rest = text;
    int64_t number;
    if (absl::ConsumePrefix(&rest, prefix) && absl::SimpleAtoi(rest, &number) && number >= 0) {
      return WatchGoal{kind, number};
    }
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--until ", text, ": not a goal; use end, running, step:N or generation:N"));
}

bool WatchGoal::ReachedBy(const v1::JobView& job) const {
  bool runs = job.state() == v1::JOB_RUNNING || job.state() == v1::SUCCEEDED;
  switch (kind) {
    case Kind::kEnd:
      return false;
    case Kind::kRunning:
      return runs;
    case Kind::kStep:
      return job.step() >= number;
    case Kind::kGeneration:
      return runs && static_cast<int64_t>(job.generation()) >= number;
  }
  return false;
}

}  // namespace muster::ctl
