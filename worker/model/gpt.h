#ifndef MUSTER_WORKER_MODEL_GPT_H_
#define MUSTER_WORKER_MODEL_GPT_H_

#include <cstdint>
#include <vector>

#include "worker/model/gpt_config.h"
#include "worker/model/gpt_weights.h"
#include "worker/model/ops/buffer.h"
#include "worker/model/ops/thread_pool.h"

namespace muster::worker {

// Sequences of tokens, and for each token the one to predict: [batch, length] each, tokens in [0, vocab).
struct GptBatch {
  int64_t batch = 0;
  int64_t length = 0;
  const int32_t* tokens = nullptr;
  const int32_t* targets = nullptr;
};

// The forward and backward pass of a GPT-2 (Radford et al., 2019): learned positions, pre-norm blocks, GELU, tied head.
// Holds activations; weights and gradients are the caller's. One caller at a time.
class Gpt {
 public:
  // For batches of up to max_batch sequences of up to config.context tokens. Borrows the pool.
  Gpt(const GptConfig& config, int64_t max_batch, ops::ThreadPool* pool);

  // The sum of the losses (cross entropy) of all tokens.
  double Loss(const GptWeights& weights, const GptBatch& batch);

  // The same, and adds the gradients of scale * that sum to `gradients`.
  double LossAndGradients(const GptWeights& weights, const GptBatch& batch, float scale, const GptWeights& gradients);

  // logits[vocab] for the token after tokens[length]; 1 <= length <= config.context.
  void NextLogits(const GptWeights& weights, const int32_t* tokens, int64_t length, float* logits);

 private:
  // What a block's backward pass needs of its forward pass; rows = batch * length.
  struct BlockActivations {
    float* ln_1;           // [rows, channels]
    float* ln_1_mean;      // [rows]
    float* ln_1_rstd;      // [rows]
    float* qkv;            // [rows, 3 * channels]
    float* attention;      // [rows, channels]
    float* attention_sum;  // [batch, heads, length]
    float* middle;         // [rows, channels]: the residual stream between attention and MLP
    float* ln_2;           // [rows, channels]
    float* ln_2_mean;      // [rows]
    float* ln_2_rstd;      // [rows]
    float* fc;             // [rows, 4 * channels]
    float* gelu;           // [rows, 4 * channels]
    float* out;            // [rows, channels]: the residual stream after the block
  };

  void Forward(const GptWeights& weights, const GptBatch& batch);
  void ForwardBlock(const GptBlock& w, const GptBatch& batch, const float* in, const BlockActivations& a);
  // d_stream_, the gradient of the block's output, becomes that of its input.
  void BackwardBlock(const GptBlock& w, const GptBatch& batch, const float* in, const BlockActivations& a,
                     const GptBlock& g);
  // The residual stream that enters a block, or the last norm.
  const float* StreamInto(int64_t layer) const { return layer == 0 ? embedded_ : blocks_[layer - 1].out; }
  double SumLosses(int64_t rows) const;

  GptConfig config_;
  ops::ThreadPool* pool_;
  ops::Buffer memory_;
  std::vector<BlockActivations> blocks_;
  float* embedded_;
  float* ln_f_;
  float* ln_f_mean_;
  float* ln_f_rstd_;
  float* losses_;
  float* d_stream_;  // [rows, channels]
  float* d_narrow_;  // [rows, channels]
  float* d_wide_;    // [rows, 4 * channels]
  float* attention_workspace_;
  float* head_workspace_;
};

}  // namespace muster::worker

#endif  // MUSTER_WORKER_MODEL_GPT_H_
