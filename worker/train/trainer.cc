#include "worker/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status_macros.h"
#include "worker/data/sample_order.h"
#include "worker/model/gpt.h"
#include "worker/model/gpt_config.h"
#include "worker/model/gpt_weights.h"
#include "worker/model/init.h"
#include "worker/model/ops/thread_pool.h"
#include "worker/model/random.h"
#include "worker/train/sampler.h"
#include "worker/train/schedule.h"
#include "worker/train/sharded_state.h"
#include "worker/train/step_totals.h"

namespace muster::worker {
namespace {

// Keeps the numbers that sampling draws apart from those that made the initial weights.
constexpr uint64_t kSamplingSeed = 0x5341'4D50'4C45;

class GptTrainer final : public Trainer {
 public:
  GptTrainer(const v1::TrainSpec& spec, Communicator* comm, const TokenDataset* data, int threads)
      : spec_(spec),
        config_(GptConfig::FromSpec(spec.model())),
        comm_(comm),
        data_(data),
        order_(spec.seed(), static_cast<uint64_t>(data->samples())),
        pool_(threads),
        model_(config_, spec.batch().micro(), &pool_),
        state_(GptUnits(config_), spec.sharding(), comm, &pool_),
        weights_(GptWeightsIn(state_.plan(), state_.parameters())),
        gradients_(GptWeightsIn(state_.plan(), state_.gradients())) {
    InitializeWeights(spec.seed(), state_.plan(), state_.parameters());
  }

  int64_t step() const override { return step_; }

  absl::StatusOr<StepResult> Step(bool flag) override {
    MUSTER_ASSIGN_OR_RETURN(StepPart part, AccumulateGradients());
    MUSTER_RETURN_IF_ERROR(state_.SumGradients());
    part.gradient_squares = state_.OwnedGradientSquares();
    part.flag = flag;
    MUSTER_ASSIGN_OR_RETURN(const StepTotals totals, SumOverRanks(comm_, step_ + 1, part));

    const double lr = LearningRate(spec_.schedule(), step_);
    state_.Update(AdamWOf(lr, totals.grad_norm));
    MUSTER_RETURN_IF_ERROR(state_.GatherParameters());

    ++step_;
    return StepResult{.step = step_,
                      .loss = totals.loss,
                      .grad_norm = totals.grad_norm,
                      .lr = lr,
                      .tokens = GlobalTokens(),
                      .flag = totals.flag};
  }

  absl::StatusOr<double> Evaluate(const TokenDataset& val, int batches) override {
    const int64_t micro = spec_.batch().micro();
    const int64_t samples = std::min(batches * micro, val.samples());
    if (samples < 1) return absl::InvalidArgumentError("evaluation needs at least one batch and one sample");
    const auto [first, count] = MicroBatchesOfRank((samples + micro - 1) / micro, comm_->rank(), comm_->size());
    StepPart part;
    for (int64_t m = first; m < first + count; ++m) {
      const int64_t size = std::min(micro, samples - m * micro);
      MUSTER_RETURN_IF_ERROR(ReadBatch(val, size, [&](int64_t i) { return m * micro + i; }));
      part.loss += model_.Loss(weights_, Batch(size)) / static_cast<double>(samples * config_.context);
    }
    MUSTER_ASSIGN_OR_RETURN(const StepTotals totals, SumOverRanks(comm_, step_, part));
    return totals.loss;
  }

  absl::StatusOr<std::string> Sample(const v1::SampleSpec& sample) override {
    std::vector<int32_t> tokens;
    for (const char c : sample.prompt()) tokens.push_back(static_cast<uint8_t>(c));
    if (tokens.empty()) return absl::InvalidArgumentError("sample.prompt is empty: give it at least one byte");
    for (const int32_t token : tokens) {
      if (token >= config_.vocab) {
        return absl::InvalidArgumentError(absl::StrFormat(
            "sample.prompt: byte %d is not a token of a vocabulary of %d: use other bytes", token, config_.vocab));
      }
    }
    std::vector<float> logits(static_cast<size_t>(config_.vocab));
    for (int i = 0; i < sample.tokens(); ++i) {
      const int64_t length = std::min<int64_t>(config_.context, static_cast<int64_t>(tokens.size()));
      model_.NextLogits(weights_, tokens.data() + tokens.size() - length, length, logits.data());
      const uint64_t bits = RandomBitsAt(spec_.seed() ^ kSamplingSeed, static_cast<uint64_t>(step_), i);
      tokens.push_back(PickToken(logits, sample.temperature(), bits));
    }
    return TextOf(tokens);
  }

  std::vector<TensorSlice> StateSlices() override { return state_.OwnedSlices(); }

  absl::Status FinishLoad(int64_t step) override {
    MUSTER_RETURN_IF_ERROR(state_.GatherAll());
    step_ = step;
    return absl::OkStatus();
  }

  absl::Span<const UsedSample> last_samples() const override { return last_samples_; }

 private:
  int64_t GlobalTokens() const { return spec_.batch().global() * config_.context; }

  // Gradients of this rank's micro-batches of the step, of the mean over the global batch: a rank's part does not
  // depend on how many micro-batches the others have, and may be nothing.
  absl::StatusOr<StepPart> AccumulateGradients() {
    const int64_t global = spec_.batch().global();
    const int64_t micro = spec_.batch().micro();
    const double scale = 1.0 / static_cast<double>(GlobalTokens());
    const auto [first, count] = MicroBatchesOfRank(global / micro, comm_->rank(), comm_->size());
    state_.ZeroGradients();
    last_samples_.clear();
    StepPart part;
    for (int64_t m = first; m < first + count; ++m) {
      MUSTER_RETURN_IF_ERROR(ReadBatch(*data_, micro, [&](int64_t i) {
        const auto position = static_cast<uint64_t>(step_ * global + m * micro + i);
        const uint64_t id = order_.IdAt(position);
        last_samples_.push_back({position, id});
        return static_cast<int64_t>(id);
      }));
      part.loss += scale * model_.LossAndGradients(weights_, Batch(micro), static_cast<float>(scale), gradients_);
    }
    part.gradients_finite = state_.GradientsAreFinite();
    return part;
  }

  // Reads samples id_of(0), ..., id_of(size - 1): all tokens but the last are inputs, all but the first are targets.
  template <typename IdOf>
  absl::Status ReadBatch(const TokenDataset& data, int64_t size, IdOf id_of) {
    std::vector<int32_t> sample(static_cast<size_t>(config_.context + 1));
    tokens_.clear();
    targets_.clear();
    for (int64_t i = 0; i < size; ++i) {
      MUSTER_RETURN_IF_ERROR(data.Read(id_of(i), absl::MakeSpan(sample)));
      tokens_.insert(tokens_.end(), sample.begin(), sample.end() - 1);
      targets_.insert(targets_.end(), sample.begin() + 1, sample.end());
    }
    return absl::OkStatus();
  }

  GptBatch Batch(int64_t size) const {
    return {.batch = size, .length = config_.context, .tokens = tokens_.data(), .targets = targets_.data()};
  }

  ops::AdamW AdamWOf(double lr, double grad_norm) const {
    const v1::OptimizerSpec& optimizer = spec_.optimizer();
    const bool clips = optimizer.clip() > 0 && grad_norm > optimizer.clip();
    return {.lr = static_cast<float>(lr),
            .beta1 = static_cast<float>(optimizer.beta1()),
            .beta2 = static_cast<float>(optimizer.beta2()),
            .eps = static_cast<float>(optimizer.eps()),
            .weight_decay = static_cast<float>(optimizer.weight_decay()),
            .gradient_scale = static_cast<float>(clips ? optimizer.clip() / grad_norm : 1.0),
            .step = step_ + 1};
  }

  const v1::TrainSpec spec_;
  const GptConfig config_;
  Communicator* const comm_;
  const TokenDataset* const data_;
  const SampleOrder order_;
  ops::ThreadPool pool_;
  Gpt model_;
  ShardedState state_;
  const GptWeights weights_;
  const GptWeights gradients_;
  int64_t step_ = 0;
  std::vector<int32_t> tokens_;
  std::vector<int32_t> targets_;
  std::vector<UsedSample> last_samples_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Trainer>> Trainer::Create(const v1::TrainSpec& spec, Communicator* comm,
                                                         const TokenDataset* data, int threads) {
  if (threads < 1) return absl::InvalidArgumentError(absl::StrCat("threads is ", threads, ": give at least 1"));
  if (data->samples() < 1) return absl::InvalidArgumentError("the training data holds no sample: give it more tokens");
  try {
    return std::make_unique<GptTrainer>(spec, comm, data, threads);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        "not enough memory for the model: lower batch.micro or the sizes in model, or use a larger node");
  }
}

}  // namespace muster::worker
