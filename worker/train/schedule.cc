#include "worker/train/schedule.h"

#include <cmath>
#include <numbers>

namespace muster::worker {

double LearningRate(const v1::ScheduleSpec& schedule, int64_t step) {
  if (step < schedule.warmup_steps()) {
    return schedule.lr() * static_cast<double>(step + 1) / static_cast<double>(schedule.warmup_steps());
  }
  if (step >= schedule.decay_steps()) return schedule.min_lr();
  const double progress = static_cast<double>(step - schedule.warmup_steps()) /
                          static_cast<double>(schedule.decay_steps() - schedule.warmup_steps());
  return schedule.min_lr() + (schedule.lr() - schedule.min_lr()) * (1 + std::cos(std::numbers::pi * progress)) / 2;
}

}  // namespace muster::worker
