#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/spec/validate_internal.h"
#include "common/status_macros.h"

namespace muster::spec_internal {
namespace {

// Far beyond any model that fits a machine; they keep the trainer's sizes from overflowing 64 bits.
constexpr int32_t kMaxLayers = 10'000;
constexpr int32_t kMaxChannels = 1 << 20;
constexpr int32_t kMaxVocab = 1 << 30;
constexpr int32_t kMaxContext = 1 << 24;
constexpr int32_t kMaxSampleTokens = 1'000'000;
constexpr int32_t kU16Tokens = 65536;

std::string AtMost(int64_t high) { return absl::StrFormat("use 1 to %d", high); }

absl::Status ValidateModel(const v1::ModelSpec& model) {
  MUSTER_RETURN_IF_ERROR(CheckRange("train.model.layers", model.layers(), 1, kMaxLayers, AtMost(kMaxLayers)));
  MUSTER_RETURN_IF_ERROR(CheckRange("train.model.heads", model.heads(), 1, kMaxChannels, AtMost(kMaxChannels)));
  MUSTER_RETURN_IF_ERROR(CheckRange("train.model.channels", model.channels(), 1, kMaxChannels, AtMost(kMaxChannels)));
  if (model.channels() % model.heads() != 0) {
    int32_t below = model.channels() / model.heads() * model.heads();
    int32_t above = below + model.heads();
    std::string use = below == 0 ? absl::StrCat(above) : absl::StrCat(below, " or ", above);
    return Wrong("train.model.channels",
                 absl::StrFormat("%d is not a multiple of model.heads %d", model.channels(), model.heads()),
                 absl::StrCat("use ", use));
  }
  MUSTER_RETURN_IF_ERROR(CheckRange("train.model.vocab", model.vocab(), 1, kMaxVocab, AtMost(kMaxVocab)));
  return CheckRange("train.model.context", model.context(), 1, kMaxContext, AtMost(kMaxContext));
}

absl::Status ValidateData(const v1::TrainSpec& train) {
  const v1::DataSpec& data = train.data();
  if (data.train().empty()) {
    return Wrong("train.data.train", "missing", "give a token file or a glob; `musterctl data pack` makes one");
  }
  MUSTER_RETURN_IF_ERROR(CheckPath("train.data.train", data.train()));
  MUSTER_RETURN_IF_ERROR(CheckPath("train.data.val", data.val()));
  if (data.format() != v1::AUTO && data.format() != v1::RAW_U16) {
    return Wrong("train.data.format", absl::StrCat(static_cast<int>(data.format())), "use auto or raw_u16");
  }
  if (data.format() == v1::RAW_U16 && train.model().vocab() > kU16Tokens) {
    return Wrong("train.data.format",
                 absl::StrFormat("raw_u16 holds tokens below %d, model.vocab is %d", kU16Tokens, train.model().vocab()),
                 "lower vocab, or use files with a header and format auto");
  }
  return absl::OkStatus();
}

absl::Status ValidateBatch(const v1::BatchSpec& batch, const v1::NodeRange& nodes, int32_t slots_per_node) {
  // Checked against each other below; here only that they are sizes at all.
  MUSTER_RETURN_IF_ERROR(
      CheckRange("train.batch.global", batch.global(), 1, INT32_MAX, "a step needs at least 1 sequence"));
  MUSTER_RETURN_IF_ERROR(CheckRange("train.batch.micro", batch.micro(), 1, INT32_MAX,
                                    "a forward and backward pass needs at least 1 sequence"));
  int64_t micro_batches = batch.global() / batch.micro();
  if (batch.global() % batch.micro() != 0) {
    int64_t below = micro_batches * batch.micro();
    int64_t above = below + batch.micro();
    std::string use = below == 0 ? absl::StrCat(above, ", or lower micro") : absl::StrCat(below, " or ", above);
    return Wrong("train.batch.global",
                 absl::StrFormat("%d is not a multiple of batch.micro %d", batch.global(), batch.micro()),
                 absl::StrCat("use ", use));
  }
  int64_t ranks = int64_t{nodes.max()} * slots_per_node;
  if (micro_batches < ranks) {
    return Wrong("train.batch.global",
                 absl::StrFormat("%d is %d micro-batches of %d, fewer than the %d ranks at nodes.max %d",
                                 batch.global(), micro_batches, batch.micro(), ranks, nodes.max()),
                 absl::StrFormat("raise it to %d, or lower batch.micro or nodes.max", ranks * batch.micro()));
  }
  return absl::OkStatus();
}

// "<path>: <value>; <remedy>" unless ok and finite.
absl::Status CheckNumber(absl::string_view path, double value, bool ok, absl::string_view remedy) {
  if (ok && std::isfinite(value)) return absl::OkStatus();
  return Wrong(path, absl::StrFormat("%g", value), remedy);
}

absl::Status ValidateOptimizer(const v1::OptimizerSpec& o) {
  MUSTER_RETURN_IF_ERROR(CheckNumber("train.optimizer.beta1", o.beta1(), o.beta1() >= 0 && o.beta1() < 1,
                                     "use 0 or more and less than 1"));
  MUSTER_RETURN_IF_ERROR(CheckNumber("train.optimizer.beta2", o.beta2(), o.beta2() >= 0 && o.beta2() < 1,
                                     "use 0 or more and less than 1"));
  MUSTER_RETURN_IF_ERROR(CheckNumber("train.optimizer.eps", o.eps(), o.eps() > 0, "use more than 0"));
  MUSTER_RETURN_IF_ERROR(
      CheckNumber("train.optimizer.weight_decay", o.weight_decay(), o.weight_decay() >= 0, "use 0 or more"));
  return CheckNumber("train.optimizer.clip", o.clip(), o.clip() >= 0, "use 0 (no clipping) or more");
}

absl::Status ValidateSchedule(const v1::ScheduleSpec& s) {
  MUSTER_RETURN_IF_ERROR(CheckNumber("train.schedule.lr", s.lr(), s.lr() > 0, "use more than 0"));
  MUSTER_RETURN_IF_ERROR(
      CheckNumber("train.schedule.min_lr", s.min_lr(), s.min_lr() >= 0, "use 0 or more, and at most lr"));
  if (s.min_lr() > s.lr()) {
    return Wrong("train.schedule.min_lr", absl::StrFormat("%g is above schedule.lr %g", s.min_lr(), s.lr()),
                 "lower min_lr or raise lr");
  }
  if (s.has_warmup_steps()) {
    MUSTER_RETURN_IF_ERROR(
        CheckRange("train.schedule.warmup_steps", s.warmup_steps(), 0, INT64_MAX, "use 0 (no warm-up) or more"));
  }
  if (s.has_decay_steps()) {
    MUSTER_RETURN_IF_ERROR(CheckRange("train.schedule.decay_steps", s.decay_steps(), 1, INT64_MAX, "use at least 1"));
    if (s.warmup_steps() > s.decay_steps()) {
      return Wrong("train.schedule.warmup_steps",
                   absl::StrFormat("%d is above schedule.decay_steps %d", s.warmup_steps(), s.decay_steps()),
                   "the warm-up must end before the decay does, so lower it");
    }
  }
  return absl::OkStatus();
}

absl::Status ValidateSteps(const v1::TrainSpec& train) {
  if (!train.has_steps()) return Wrong("train.steps", "missing", "give the number of optimizer steps to train");
  MUSTER_RETURN_IF_ERROR(CheckRange("train.steps", train.steps(), 1, INT64_MAX, "train at least 1 step"));
  // The sample order counts samples in 64 bits.
  int64_t most = INT64_MAX / train.batch().global();
  return CheckRange("train.steps", train.steps(), 1, most, absl::StrFormat("use at most %d", most));
}

absl::Status ValidateEval(const v1::TrainSpec& train) {
  const v1::EvalSpec& eval = train.eval();
  MUSTER_RETURN_IF_ERROR(CheckRange("train.eval.every", eval.every(), 0, INT64_MAX, "use 0 (never) or more"));
  if (eval.every() > 0 && train.data().val().empty()) {
    return Wrong("train.eval.every", absl::StrFormat("%d without train.data.val", eval.every()),
                 "give validation data, or remove eval");
  }
  return CheckRange("train.eval.batches", eval.batches(), 1, INT32_MAX, "an evaluation needs at least 1");
}

absl::Status ValidateSample(const v1::TrainSpec& train) {
  const v1::SampleSpec& sample = train.sample();
  MUSTER_RETURN_IF_ERROR(
      CheckRange("train.sample.every", sample.every(), 0, INT64_MAX, "use 0 (only at the end) or more"));
  MUSTER_RETURN_IF_ERROR(CheckRange("train.sample.tokens", sample.tokens(), 0, kMaxSampleTokens,
                                    absl::StrFormat("use 0 (no text) to %d", kMaxSampleTokens)));
  if (sample.every() > 0 && sample.tokens() == 0) {
    return Wrong("train.sample.every", absl::StrFormat("%d without train.sample.tokens", sample.every()),
                 "give the number of tokens to make, or remove every");
  }
  if (sample.tokens() > 0) {
    for (unsigned char c : sample.prompt()) {
      if (c < train.model().vocab()) continue;
      return Wrong("train.sample.prompt",
                   absl::StrFormat("byte %d is no token below model.vocab %d", c, train.model().vocab()),
                   "use bytes within the vocabulary");
    }
  }
  return CheckNumber("train.sample.temperature", sample.temperature(), sample.temperature() >= 0,
                     "use 0 (always the likeliest token) or more");
}

}  // namespace

absl::Status ValidateTrain(const v1::TrainSpec& train, const v1::NodeRange& nodes, int32_t slots_per_node) {
  MUSTER_RETURN_IF_ERROR(ValidateModel(train.model()));
  MUSTER_RETURN_IF_ERROR(ValidateData(train));
  MUSTER_RETURN_IF_ERROR(ValidateBatch(train.batch(), nodes, slots_per_node));
  MUSTER_RETURN_IF_ERROR(ValidateOptimizer(train.optimizer()));
  MUSTER_RETURN_IF_ERROR(ValidateSchedule(train.schedule()));
  MUSTER_RETURN_IF_ERROR(ValidateSteps(train));
  MUSTER_RETURN_IF_ERROR(ValidateEval(train));
  MUSTER_RETURN_IF_ERROR(ValidateSample(train));
  if (train.sharding() != v1::NONE && train.sharding() != v1::ZERO1) {
    return Wrong("train.sharding", absl::StrCat(static_cast<int>(train.sharding())), "use none or zero1");
  }
  return CheckPath("train.sample_log_dir", train.sample_log_dir());
}

}  // namespace muster::spec_internal
