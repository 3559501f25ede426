// Tokens a second of the trainer on one process, at a given shape:
//
//   bazel run --config=opt //worker/train:train_bench -- --layers 4 --channels 128 --context 128 --micro 8 --threads 2

#include <cstdio>
#include <memory>
#include <random>

#include "CLI/CLI.hpp"
#include "absl/time/time.h"
#include "common/clock.h"
#include "worker/comm/in_process.h"
#include "worker/train/trainer.h"

namespace muster::worker {
namespace {

// Random tokens: how fast a step is does not depend on what they say.
class RandomTokens final : public TokenDataset {
 public:
  explicit RandomTokens(int vocab) : vocab_(vocab) {}
  int64_t samples() const override { return 1 << 20; }
  absl::Status Read(int64_t id, absl::Span<int32_t> out) const override {
    std::minstd_rand random(static_cast<uint32_t>(id + 1));
    for (int32_t& token : out) token = static_cast<int32_t>(random() % vocab_);
    return absl::OkStatus();
  }

 private:
  const int vocab_;
};

struct Flags {
  int layers = 4;
  int heads = 4;
  int channels = 128;
  int vocab = 256;
  int context = 128;
  int global = 32;
  int micro = 8;
  int threads = 2;
  int steps = 20;
};

v1::TrainSpec SpecOf(const Flags& flags) {
  v1::TrainSpec spec;
  spec.mutable_model()->set_layers(flags.layers);
  spec.mutable_model()->set_heads(flags.heads);
  spec.mutable_model()->set_channels(flags.channels);
  spec.mutable_model()->set_vocab(flags.vocab);
  spec.mutable_model()->set_context(flags.context);
  spec.mutable_batch()->set_global(flags.global);
  spec.mutable_batch()->set_micro(flags.micro);
  spec.mutable_optimizer()->set_beta1(0.9);
  spec.mutable_optimizer()->set_beta2(0.95);
  spec.mutable_optimizer()->set_eps(1e-8);
  spec.mutable_optimizer()->set_weight_decay(0.1);
  spec.mutable_optimizer()->set_clip(1.0);
  spec.mutable_schedule()->set_lr(1e-3);
  spec.mutable_schedule()->set_min_lr(1e-4);
  spec.mutable_schedule()->set_warmup_steps(10);
  spec.mutable_schedule()->set_decay_steps(1000);
  spec.set_steps(1000);
  spec.set_seed(1);
  spec.set_sharding(v1::ZERO1);
  return spec;
}

absl::Status Measure(const Flags& flags) {
  const RandomTokens data(flags.vocab);
  auto ranks = NewInProcessGroup(1);
  absl::StatusOr<std::unique_ptr<Trainer>> trainer =
      Trainer::Create(SpecOf(flags), ranks[0].get(), &data, flags.threads);
  if (!trainer.ok()) return trainer.status();
  absl::Duration best = absl::InfiniteDuration();
  absl::Time begin;
  // The first step pays for pages and caches; it is not counted.
  for (int step = 0; step <= flags.steps; ++step) {
    const absl::Time step_begin = Clock::Real()->Now();
    if (step == 1) begin = step_begin;
    const absl::StatusOr<StepResult> result = (*trainer)->Step(false);
    if (!result.ok()) return result.status();
    if (step > 0) best = std::min(best, Clock::Real()->Now() - step_begin);
  }
  const absl::Duration mean = (Clock::Real()->Now() - begin) / flags.steps;
  const double tokens = flags.global * flags.context;
  std::printf("%.0f tokens/s (mean step %.1f ms; best %.1f ms, %.0f tokens/s)\n", tokens / absl::ToDoubleSeconds(mean),
              absl::ToDoubleMilliseconds(mean), absl::ToDoubleMilliseconds(best), tokens / absl::ToDoubleSeconds(best));
  return absl::OkStatus();
}

}  // namespace
}  // namespace muster::worker

int main(int argc, char** argv) {
  muster::worker::Flags flags;
  CLI::App app("Measures the CPU trainer: tokens a second at a shape, on random tokens.");
  app.add_option("--layers", flags.layers)->capture_default_str();
  app.add_option("--heads", flags.heads)->capture_default_str();
  app.add_option("--channels", flags.channels)->capture_default_str();
  app.add_option("--vocab", flags.vocab)->capture_default_str();
  app.add_option("--context", flags.context)->capture_default_str();
  app.add_option("--global", flags.global, "sequences a step")->capture_default_str();
  app.add_option("--micro", flags.micro, "sequences a pass; divides --global")->capture_default_str();
  app.add_option("--threads", flags.threads)->capture_default_str();
  app.add_option("--steps", flags.steps, "steps that are measured")->check(CLI::PositiveNumber)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = muster::worker::Measure(flags);
  if (!status.ok()) std::fprintf(stderr, "train_bench: %s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
