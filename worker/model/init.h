#ifndef MUSTER_WORKER_MODEL_INIT_H_
#define MUSTER_WORKER_MODEL_INIT_H_

#include <cstdint>

#include "worker/shard/shard_plan.h"

namespace muster::worker {

// A sample of the standard normal distribution that is a pure function of its arguments.
float NormalAt(uint64_t seed, uint64_t stream, uint64_t index);

// Sets tensors in `flat` (plan.size() elements; `plan` is of GptUnits) to GPT-2's initial values: matrices normal with
// deviation 0.02, those that end a residual branch 0.02 / sqrt(2 * layers), norm weights one, biases zero. An element's
// value depends on (seed, its tensor's place in the model, its place in the tensor) alone, so it is the same at every
// world size.
void InitializeWeights(uint64_t seed, const ShardPlan& plan, float* flat);

}  // namespace muster::worker

#endif  // MUSTER_WORKER_MODEL_INIT_H_
