#ifndef MUSTER_WORKER_TRAIN_SCHEDULE_H_
#define MUSTER_WORKER_TRAIN_SCHEDULE_H_

#include <cstdint>

#include "proto/job.pb.h"

namespace muster::worker {

// The learning rate of the optimizer step that follows `step` done ones: linear from lr / warmup_steps up to lr, then a
// half cosine (Loshchilov and Hutter, 2017) that reaches min_lr at decay_steps and stays there. All fields are set.
double LearningRate(const v1::ScheduleSpec& schedule, int64_t step);

}  // namespace muster::worker

#endif  // MUSTER_WORKER_TRAIN_SCHEDULE_H_
