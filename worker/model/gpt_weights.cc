#include "worker/model/gpt_weights.h"

#include <cassert>

namespace muster::worker {

GptWeights GptWeightsIn(const ShardPlan& plan, float* flat) {
  auto tensor = plan.tensors().begin();
  const auto next = [&] { return flat + (tensor++)->range.begin; };
  // Braced lists are evaluated in order, which is the order of GptUnits.
  GptWeights weights{.wte = next(), .wpe = next()};
  for (size_t unit = 1; unit + 1 < plan.units().size(); ++unit) {
    weights.blocks.push_back(
        GptBlock{next(), next(), next(), next(), next(), next(), next(), next(), next(), next(), next(), next()});
  }
  weights.ln_f_weight = next();
  weights.ln_f_bias = next();
  assert(tensor == plan.tensors().end());
  return weights;
}

}  // namespace muster::worker
