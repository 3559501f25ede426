#include "coordinator/rpc/watch_cursor.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "coordinator/core/views.h"

namespace muster::coordinator {
namespace {

constexpr int64_t kFirstSteps = 128;
constexpr int kFirstEvents = 20;

// The step that the generations after `seen` began from, the earliest of them: what was done again lies after it.
int64_t RewoundTo(const v1::JobDetail& detail, uint64_t seen, int64_t newest_step) {
  int64_t step = newest_step;
  for (const v1::StoredGeneration& generation : detail.generations()) {
    if (generation.generation() > seen) step = std::min(step, generation.restore_step());
  }
  return step;
}

bool IsOfUse(const v1::NodeView& node, const v1::JobDetail& detail) {
  if (std::find(node.jobs().begin(), node.jobs().end(), detail.job().job_id()) != node.jobs().end()) return true;
  return std::any_of(node.slots().begin(), node.slots().end(),
                     [&](const v1::Slot& slot) { return slot.device() == detail.spec().device(); });
}

}  // namespace

v1::JobSnapshot WatchCursor::Next(const State& state) {
  v1::JobDetail detail = DetailOfJob(state, job_);
  v1::JobSnapshot snapshot;
  AddSteps(state, detail, &snapshot);
  AddEvents(detail, &snapshot);
  for (v1::NodeView& node : ViewsOfNodes(state)) {
    if (IsOfUse(node, detail)) *snapshot.add_nodes() = std::move(node);
  }
  *snapshot.mutable_job() = std::move(*detail.mutable_job());
  *snapshot.mutable_ranks() = std::move(*detail.mutable_ranks());
  first_ = false;
  return snapshot;
}

void WatchCursor::AddSteps(const State& state, const v1::JobDetail& detail, v1::JobSnapshot* snapshot) {
  const uint64_t seen_generation = generation_;
  const int64_t seen_step = newest_step_;
  const int64_t from =
      first_ ? std::max<int64_t>(0, detail.job().step() - kFirstSteps) : RewoundTo(detail, seen_generation, seen_step);
  std::vector<v1::StoredStep> steps = StepsOfJob(state, job_, from + 1);
  if (first_ && steps.size() > kFirstSteps) steps.erase(steps.begin(), steps.end() - kFirstSteps);
  for (v1::StoredStep& step : steps) {
    const bool is_new = first_ || step.generation() > seen_generation ||
                        (step.generation() == seen_generation && step.metrics().step() > seen_step);
    if (!is_new) continue;
    if (step.generation() > generation_) {
      generation_ = step.generation();
      newest_step_ = step.metrics().step();
    } else if (step.generation() == generation_) {
      newest_step_ = std::max(newest_step_, step.metrics().step());
    }
    *snapshot->add_steps() = std::move(step);
  }
}

void WatchCursor::AddEvents(const v1::JobDetail& detail, v1::JobSnapshot* snapshot) {
  const auto& events = detail.events();
  const int skip = first_ ? std::max(0, events.size() - kFirstEvents) : 0;
  for (int i = skip; i < events.size(); ++i) {
    if (events[i].seq() < next_event_) continue;
    *snapshot->add_events() = events[i];
  }
  if (!events.empty()) next_event_ = std::max(next_event_, events[events.size() - 1].seq() + 1);
}

}  // namespace muster::coordinator
