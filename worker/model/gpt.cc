#include "worker/model/gpt.h"

#include <algorithm>
#include <cassert>

#include "worker/model/ops/attention.h"
#include "worker/model/ops/embedding.h"
#include "worker/model/ops/gelu.h"
#include "worker/model/ops/head.h"
#include "worker/model/ops/layer_norm.h"
#include "worker/model/ops/linear.h"
#include "worker/model/ops/matmul.h"

namespace muster::worker {
namespace {

using ops::AttentionShape;

// Hands out pieces of one buffer. The first pass, over no buffer, measures.
class Arena {
 public:
  explicit Arena(float* base) : base_(base) {}
  float* Take(int64_t size) {
    float* piece = base_ == nullptr ? nullptr : base_ + used_;
    used_ += (size + 15) / 16 * 16;
    return piece;
  }
  int64_t used() const { return used_; }

 private:
  float* base_;
  int64_t used_ = 0;
};

}  // namespace

Gpt::Gpt(const GptConfig& config, int64_t max_batch, ops::ThreadPool* pool) : config_(config), pool_(pool) {
  ops::UseOneThreadPerProduct();
  const int64_t rows = max_batch * config.context;
  const int64_t c = config.channels;
  const auto lay_out = [&](Arena arena) {
    embedded_ = arena.Take(rows * c);
    blocks_.clear();
    for (int64_t layer = 0; layer < config.layers; ++layer) {
      blocks_.push_back({
          .ln_1 = arena.Take(rows * c),
          .ln_1_mean = arena.Take(rows),
          .ln_1_rstd = arena.Take(rows),
          .qkv = arena.Take(rows * 3 * c),
          .attention = arena.Take(rows * c),
          .attention_sum = arena.Take(rows * config.heads),
          .middle = arena.Take(rows * c),
          .ln_2 = arena.Take(rows * c),
          .ln_2_mean = arena.Take(rows),
          .ln_2_rstd = arena.Take(rows),
          .fc = arena.Take(rows * 4 * c),
          .gelu = arena.Take(rows * 4 * c),
          .out = arena.Take(rows * c),
      });
    }
    ln_f_ = arena.Take(rows * c);
    ln_f_mean_ = arena.Take(rows);
    ln_f_rstd_ = arena.Take(rows);
    losses_ = arena.Take(rows);
    d_stream_ = arena.Take(rows * c);
    d_narrow_ = arena.Take(rows * c);
    d_wide_ = arena.Take(rows * 4 * c);
    attention_workspace_ = arena.Take(ops::AttentionWorkspace(*pool, config.context));
    head_workspace_ = arena.Take(ops::HeadWorkspace(rows, config.vocab));
    return arena.used();
  };
  memory_ = ops::Buffer(lay_out(Arena(nullptr)));
  lay_out(Arena(memory_.data()));
}

double Gpt::Loss(const GptWeights& weights, const GptBatch& batch) {
  const int64_t rows = batch.batch * batch.length;
  Forward(weights, batch);
  ops::HeadLosses(*pool_, rows, config_.channels, config_.vocab, ln_f_, weights.wte, batch.targets, losses_,
                  head_workspace_);
  return SumLosses(rows);
}

double Gpt::LossAndGradients(const GptWeights& weights, const GptBatch& batch, float scale,
                             const GptWeights& gradients) {
  const int64_t rows = batch.batch * batch.length;
  const int64_t c = config_.channels;
  Forward(weights, batch);
  ops::HeadLossesAndGradients(*pool_, rows, c, config_.vocab, ln_f_, weights.wte, batch.targets, scale, losses_,
                              d_narrow_, gradients.wte, head_workspace_);
  std::fill_n(d_stream_, rows * c, 0.0f);
  ops::LayerNormBackward(*pool_, rows, c, StreamInto(config_.layers), weights.ln_f_weight, ln_f_mean_, ln_f_rstd_,
                         d_narrow_, d_stream_, gradients.ln_f_weight, gradients.ln_f_bias);
  for (int64_t layer = config_.layers - 1; layer >= 0; --layer) {
    BackwardBlock(weights.blocks[layer], batch, StreamInto(layer), blocks_[layer], gradients.blocks[layer]);
  }
  ops::EmbeddingBackward(*pool_, batch.batch, batch.length, c, batch.tokens, d_stream_, gradients.wte, gradients.wpe);
  return SumLosses(rows);
}

void Gpt::NextLogits(const GptWeights& weights, const int32_t* tokens, int64_t length, float* logits) {
  Forward(weights, {.batch = 1, .length = length, .tokens = tokens});
  ops::HeadLogits(*pool_, 1, config_.channels, config_.vocab, ln_f_ + (length - 1) * config_.channels, weights.wte,
                  logits);
}

void Gpt::Forward(const GptWeights& weights, const GptBatch& batch) {
  assert(1 <= batch.length && batch.length <= config_.context);
  ops::EmbeddingForward(*pool_, batch.batch, batch.length, config_.channels, batch.tokens, weights.wte, weights.wpe,
                        embedded_);
  for (int64_t layer = 0; layer < config_.layers; ++layer) {
    ForwardBlock(weights.blocks[layer], batch, StreamInto(layer), blocks_[layer]);
  }
  ops::LayerNormForward(*pool_, batch.batch * batch.length, config_.channels, StreamInto(config_.layers),
                        weights.ln_f_weight, weights.ln_f_bias, ln_f_, ln_f_mean_, ln_f_rstd_);
}

void Gpt::ForwardBlock(const GptBlock& w, const GptBatch& batch, const float* in, const BlockActivations& a) {
  ops::ThreadPool& pool = *pool_;
  const int64_t rows = batch.batch * batch.length;
  const int64_t c = config_.channels;
  const AttentionShape shape = {batch.batch, batch.length, c, config_.heads};

  ops::LayerNormForward(pool, rows, c, in, w.ln_1_weight, w.ln_1_bias, a.ln_1, a.ln_1_mean, a.ln_1_rstd);
  ops::LinearForward(pool, rows, c, 3 * c, a.ln_1, w.c_attn_weight, w.c_attn_bias, nullptr, a.qkv);
  ops::AttentionForward(pool, shape, a.qkv, a.attention, a.attention_sum, attention_workspace_);
  ops::LinearForward(pool, rows, c, c, a.attention, w.attn_c_proj_weight, w.attn_c_proj_bias, in, a.middle);

  ops::LayerNormForward(pool, rows, c, a.middle, w.ln_2_weight, w.ln_2_bias, a.ln_2, a.ln_2_mean, a.ln_2_rstd);
  ops::LinearForward(pool, rows, c, 4 * c, a.ln_2, w.c_fc_weight, w.c_fc_bias, nullptr, a.fc);
  ops::GeluForward(pool, rows * 4 * c, a.fc, a.gelu);
  ops::LinearForward(pool, rows, 4 * c, c, a.gelu, w.mlp_c_proj_weight, w.mlp_c_proj_bias, a.middle, a.out);
}

void Gpt::BackwardBlock(const GptBlock& w, const GptBatch& batch, const float* in, const BlockActivations& a,
                        const GptBlock& g) {
  ops::ThreadPool& pool = *pool_;
  const int64_t rows = batch.batch * batch.length;
  const int64_t c = config_.channels;
  const AttentionShape shape = {batch.batch, batch.length, c, config_.heads};

  ops::LinearBackward(pool, rows, 4 * c, c, a.gelu, w.mlp_c_proj_weight, d_stream_, d_wide_, g.mlp_c_proj_weight,
                      g.mlp_c_proj_bias);
  ops::GeluBackward(pool, rows * 4 * c, a.fc, d_wide_);
  ops::LinearBackward(pool, rows, c, 4 * c, a.ln_2, w.c_fc_weight, d_wide_, d_narrow_, g.c_fc_weight, g.c_fc_bias);
  ops::LayerNormBackward(pool, rows, c, a.middle, w.ln_2_weight, a.ln_2_mean, a.ln_2_rstd, d_narrow_, d_stream_,
                         g.ln_2_weight, g.ln_2_bias);

  ops::LinearBackward(pool, rows, c, c, a.attention, w.attn_c_proj_weight, d_stream_, d_narrow_, g.attn_c_proj_weight,
                      g.attn_c_proj_bias);
  ops::AttentionBackward(pool, shape, a.qkv, a.attention, a.attention_sum, d_narrow_, d_wide_, attention_workspace_);
  ops::LinearBackward(pool, rows, c, 3 * c, a.ln_1, w.c_attn_weight, d_wide_, d_narrow_, g.c_attn_weight,
                      g.c_attn_bias);
  ops::LayerNormBackward(pool, rows, c, in, w.ln_1_weight, a.ln_1_mean, a.ln_1_rstd, d_narrow_, d_stream_,
                         g.ln_1_weight, g.ln_1_bias);
}

double Gpt::SumLosses(int64_t rows) const {
  double sum = 0;
  for (int64_t r = 0; r < rows; ++r) sum += losses_[r];
  return sum;
}

}  // namespace muster::worker
