#include <algorithm>

#include "absl/time/time.h"
#include "common/proto_time.h"
#include "common/spec/job_spec.h"

namespace muster {
namespace {

// For a proto3 `optional` field: writes the default where the field is not set.
#define MUSTER_DEFAULT(message, field, value)                     \
  do {                                                            \
    if (!(message)->has_##field()) (message)->set_##field(value); \
  } while (false)

void ApplyTrainDefaults(v1::TrainSpec* train) {
  v1::ModelSpec* model = train->mutable_model();
  MUSTER_DEFAULT(model, layers, 4);
  MUSTER_DEFAULT(model, heads, 4);
  MUSTER_DEFAULT(model, channels, 128);
  MUSTER_DEFAULT(model, vocab, 256);
  MUSTER_DEFAULT(model, context, 128);

  v1::DataSpec* data = train->mutable_data();
  if (data->format() == v1::TOKEN_FORMAT_UNSPECIFIED) data->set_format(v1::AUTO);

  v1::BatchSpec* batch = train->mutable_batch();
  MUSTER_DEFAULT(batch, global, 32);
  MUSTER_DEFAULT(batch, micro, 8);

  v1::OptimizerSpec* optimizer = train->mutable_optimizer();
  MUSTER_DEFAULT(optimizer, beta1, 0.9);
  MUSTER_DEFAULT(optimizer, beta2, 0.95);
  MUSTER_DEFAULT(optimizer, eps, 1e-8);
  MUSTER_DEFAULT(optimizer, weight_decay, 0.1);
  MUSTER_DEFAULT(optimizer, clip, 1.0);

  v1::ScheduleSpec* schedule = train->mutable_schedule();
  MUSTER_DEFAULT(schedule, lr, 1e-3);
  MUSTER_DEFAULT(schedule, min_lr, schedule->lr() / 10);
  // Both follow `steps`; without it there is nothing to follow, and Validate says that it is missing.
  if (train->has_steps()) {
    MUSTER_DEFAULT(schedule, warmup_steps, std::clamp<int64_t>(train->steps() / 10, 0, 100));
    MUSTER_DEFAULT(schedule, decay_steps, train->steps());
  }

  MUSTER_DEFAULT(train, seed, 1);
  MUSTER_DEFAULT(train->mutable_eval(), every, 0);
  MUSTER_DEFAULT(train->mutable_eval(), batches, 8);

  v1::SampleSpec* sample = train->mutable_sample();
  MUSTER_DEFAULT(sample, every, 0);
  MUSTER_DEFAULT(sample, tokens, 0);
  if (sample->prompt().empty()) sample->set_prompt("\n");
  MUSTER_DEFAULT(sample, temperature, 0.8);

  if (train->sharding() == v1::SHARDING_UNSPECIFIED) train->set_sharding(v1::ZERO1);
}

}  // namespace

void ApplyDefaults(v1::JobSpec* spec) {
  MUSTER_DEFAULT(spec->mutable_nodes(), min, 1);
  MUSTER_DEFAULT(spec->mutable_nodes(), max, spec->nodes().min());
  MUSTER_DEFAULT(spec, slots_per_node, 1);
  if (spec->device() == v1::DEVICE_UNSPECIFIED) spec->set_device(v1::CPU);

  if (spec->has_train()) {
    ApplyTrainDefaults(spec->mutable_train());
    // A command keeps its own checkpoints, so these would mean nothing there.
    MUSTER_DEFAULT(spec->mutable_checkpoint(), every, 100);
    MUSTER_DEFAULT(spec->mutable_checkpoint(), keep, 3);
  }

  MUSTER_DEFAULT(spec->mutable_restarts(), user, 3);
  MUSTER_DEFAULT(spec->mutable_restarts(), infrastructure, 100);
  if (!spec->elastic().has_cooldown()) *spec->mutable_elastic()->mutable_cooldown() = ToProto(absl::Seconds(10));
  if (!spec->has_grace()) *spec->mutable_grace() = ToProto(absl::Seconds(10));
}

#undef MUSTER_DEFAULT

}  // namespace muster
