#ifndef MUSTER_WORKER_MODEL_GPT_WEIGHTS_H_
#define MUSTER_WORKER_MODEL_GPT_WEIGHTS_H_

#include <vector>

#include "worker/shard/shard_plan.h"

namespace muster::worker {

// Where the tensors of a block lie; shapes in GptUnits.
struct GptBlock {
  float* ln_1_weight;
  float* ln_1_bias;
  float* c_attn_weight;
  float* c_attn_bias;
  float* attn_c_proj_weight;
  float* attn_c_proj_bias;
  float* ln_2_weight;
  float* ln_2_bias;
  float* c_fc_weight;
  float* c_fc_bias;
  float* mlp_c_proj_weight;
  float* mlp_c_proj_bias;
};

// The tensors of a GPT-2 in a flat buffer: weights, or their gradients.
struct GptWeights {
  float* wte;
  float* wpe;
  std::vector<GptBlock> blocks;
  float* ln_f_weight;
  float* ln_f_bias;
};

// `plan` is of GptUnits of a model; `flat` has plan.size() elements, which the result points into.
GptWeights GptWeightsIn(const ShardPlan& plan, float* flat);

}  // namespace muster::worker

#endif  // MUSTER_WORKER_MODEL_GPT_WEIGHTS_H_
