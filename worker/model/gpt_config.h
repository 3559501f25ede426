#ifndef MUSTER_WORKER_MODEL_GPT_CONFIG_H_
#define MUSTER_WORKER_MODEL_GPT_CONFIG_H_

#include <cstdint>
#include <vector>

#include "proto/job.pb.h"
#include "worker/shard/shard_plan.h"

namespace muster::worker {

// Sizes of a GPT-2 (Radford et al., 2019).
struct GptConfig {
  int64_t layers;
  int64_t heads;
  int64_t channels;
  int64_t vocab;
  int64_t context;

  // All fields of `spec` are set and valid.
  static GptConfig FromSpec(const v1::ModelSpec& spec);
};

// Tensors a block: order and names as in GptBlock (gpt_weights.h).
inline constexpr int kTensorsPerBlock = 12;

// All tensors in order, with the names and layouts of Hugging Face's GPT-2 (weights of products are [in, out]), in
// units: the embeddings, one unit a block, the last norm. The head is wte.weight again.
std::vector<UnitSpec> GptUnits(const GptConfig& config);

}  // namespace muster::worker

#endif  // MUSTER_WORKER_MODEL_GPT_CONFIG_H_
