#include "worker/train/schedule.h"

#include "gtest/gtest.h"

namespace muster::worker {
namespace {

v1::ScheduleSpec Schedule(int64_t warmup, int64_t decay) {
  v1::ScheduleSpec schedule;
  schedule.set_lr(1.0);
  schedule.set_min_lr(0.1);
  schedule.set_warmup_steps(warmup);
  schedule.set_decay_steps(decay);
  return schedule;
}

TEST(LearningRateTest, RisesLinearlyThenFallsAlongACosineToTheLeast) {
  const v1::ScheduleSpec schedule = Schedule(4, 104);
  EXPECT_DOUBLE_EQ(LearningRate(schedule, 0), 0.25);
  EXPECT_DOUBLE_EQ(LearningRate(schedule, 3), 1.0);
  EXPECT_DOUBLE_EQ(LearningRate(schedule, 4), 1.0);
  EXPECT_DOUBLE_EQ(LearningRate(schedule, 54), 0.55);
  EXPECT_DOUBLE_EQ(LearningRate(schedule, 104), 0.1);
  EXPECT_DOUBLE_EQ(LearningRate(schedule, 100000), 0.1);
  for (int64_t step = 4; step < 104; ++step) EXPECT_GT(LearningRate(schedule, step), LearningRate(schedule, step + 1));
}

TEST(LearningRateTest, NoWarmupAndNoDecayAreDefined) {
  EXPECT_DOUBLE_EQ(LearningRate(Schedule(0, 10), 0), 1.0);
  EXPECT_DOUBLE_EQ(LearningRate(Schedule(0, 0), 0), 0.1);
  EXPECT_DOUBLE_EQ(LearningRate(Schedule(5, 5), 4), 1.0);
  EXPECT_DOUBLE_EQ(LearningRate(Schedule(5, 5), 5), 0.1);
}

}  // namespace
}  // namespace muster::worker
