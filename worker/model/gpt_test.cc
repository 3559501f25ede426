#include "worker/model/gpt.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "gtest/gtest.h"
#include "worker/model/gpt_config.h"
#include "worker/model/init.h"
#include "worker/model/ops/testing.h"

namespace muster::worker {
namespace {

using ops::Floats;

// Reads the format that testdata/make_reference.py describes.
class Reference {
 public:
  Reference() {
    std::ifstream file("worker/model/testdata/gpt_reference.bin", std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
    const std::vector<int32_t> sizes = Take<int32_t>(6);
    config = {sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]};
    batch = sizes[5];
    for (int64_t b = 0; b < batch; ++b) {
      const std::vector<int32_t> sample = Take<int32_t>(config.context + 1);
      tokens.insert(tokens.end(), sample.begin(), sample.end() - 1);
      targets.insert(targets.end(), sample.begin() + 1, sample.end());
    }
    loss = Take<double>(1)[0];
    const ShardPlan plan(1, GptUnits(config));
    weights.resize(plan.size());
    gradients.resize(plan.size());
    for (const ShardPlan::Tensor& tensor : plan.tensors()) {
      for (Floats* const to : {&weights, &gradients}) {
        const Floats values = Take<float>(tensor.range.size());
        std::copy(values.begin(), values.end(), to->begin() + tensor.range.begin);
      }
    }
    EXPECT_EQ(at_, bytes_.size());
  }

  GptBatch Batch() const { return {batch, config.context, tokens.data(), targets.data()}; }

  GptConfig config;
  int64_t batch;
  std::vector<int32_t> tokens;
  std::vector<int32_t> targets;
  double loss;  // mean
  Floats weights;
  Floats gradients;  // of the mean

 private:
  template <typename T>
  std::vector<T> Take(int64_t count) {
    std::vector<T> values(count);
    EXPECT_LE(at_ + count * sizeof(T), bytes_.size());
    std::memcpy(values.data(), bytes_.data() + at_, count * sizeof(T));
    at_ += count * sizeof(T);
    return values;
  }

  std::string bytes_;
  size_t at_ = 0;
};

class GptReferenceTest : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Threads, GptReferenceTest, ::testing::Values(1, 2, 3));

TEST_P(GptReferenceTest, LossAndAllGradientsMatchPyTorch) {
  Reference reference;
  const ShardPlan plan(1, GptUnits(reference.config));
  const auto tokens = static_cast<double>(reference.tokens.size());
  ops::ThreadPool pool(GetParam());
  Gpt model(reference.config, reference.batch, &pool);
  const GptWeights weights = GptWeightsIn(plan, reference.weights.data());
  Floats gradients(plan.size());
  const double loss = model.LossAndGradients(weights, reference.Batch(), static_cast<float>(1 / tokens),
                                             GptWeightsIn(plan, gradients.data()));
  EXPECT_NEAR(loss / tokens, reference.loss, 1e-5);
  EXPECT_NEAR(model.Loss(weights, reference.Batch()) / tokens, reference.loss, 1e-5);
  for (const ShardPlan::Tensor& tensor : plan.tensors()) {
    const auto part = [&](const Floats& all) {
      return Floats(all.begin() + tensor.range.begin, all.begin() + tensor.range.end);
    };
    double norm = 0;
    double difference = 0;
    const Floats actual = part(gradients);
    const Floats expected = part(reference.gradients);
    for (size_t i = 0; i < actual.size(); ++i) {
      norm += std::pow(expected[i], 2);
      difference += std::pow(actual[i] - expected[i], 2);
    }
    EXPECT_TRUE(std::sqrt(difference) <= 1e-5 * std::sqrt(norm) + 1e-7)
        << tensor.spec.name << ": off by " << std::sqrt(difference) << " of " << std::sqrt(norm);
  }
}

TEST(GptTest, GradientsAddUpOverMicroBatches) {
  Reference reference;
  const ShardPlan plan(1, GptUnits(reference.config));
  ops::ThreadPool pool(2);
  Gpt model(reference.config, reference.batch, &pool);
  const GptWeights weights = GptWeightsIn(plan, reference.weights.data());
  Floats whole(plan.size());
  Floats parts(plan.size());
  model.LossAndGradients(weights, reference.Batch(), 1, GptWeightsIn(plan, whole.data()));
  for (int64_t b = 0; b < reference.batch; ++b) {
    GptBatch one = reference.Batch();
    one.batch = 1;
    one.tokens += b * one.length;
    one.targets += b * one.length;
    model.LossAndGradients(weights, one, 1, GptWeightsIn(plan, parts.data()));
  }
  ops::ExpectNear(parts, whole, 1e-3, "gradients");
}

TEST(GptTest, GradientsMatchFiniteDifferencesOfTheLoss) {
  const GptConfig config = {.layers = 1, .heads = 2, .channels = 8, .vocab = 11, .context = 6};
  const ShardPlan plan(1, GptUnits(config));
  ops::ThreadPool pool(2);
  Gpt model(config, 2, &pool);
  Floats flat(plan.size());
  InitializeWeights(3, plan, flat.data());
  for (float& weight : flat) weight *= 10;
  const GptWeights weights = GptWeightsIn(plan, flat.data());
  const std::vector<int32_t> tokens = {1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9};
  const std::vector<int32_t> targets = {4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7};
  const GptBatch batch = {2, 6, tokens.data(), targets.data()};
  Floats gradients(plan.size());
  model.LossAndGradients(weights, batch, 1, GptWeightsIn(plan, gradients.data()));
  // A step that is large enough for fp32 losses, along each tensor's own gradient, where the change is largest.
  for (const ShardPlan::Tensor& tensor : plan.tensors()) {
    double norm = 0;
    for (int64_t i = tensor.range.begin; i < tensor.range.end; ++i) norm += std::pow(gradients[i], 2);
    norm = std::sqrt(norm);
    ASSERT_GT(norm, 0) << tensor.spec.name;
    const Floats before = flat;
    const auto loss_at = [&](double step) {
      for (int64_t i = tensor.range.begin; i < tensor.range.end; ++i) {
        flat[i] = static_cast<float>(before[i] + step * gradients[i] / norm);
      }
      const double loss = model.Loss(weights, batch);
      flat = before;
      return loss;
    };
    EXPECT_NEAR((loss_at(5e-3) - loss_at(-5e-3)) / 1e-2, norm, 0.01 * norm + 2e-3) << tensor.spec.name;
  }
}

TEST(GptTest, NextLogitsDependOnThePastAloneAndAgreeWithTheLoss) {
  Reference reference;
  const ShardPlan plan(1, GptUnits(reference.config));
  ops::ThreadPool pool(2);
  Gpt model(reference.config, reference.batch, &pool);
  const GptWeights weights = GptWeightsIn(plan, reference.weights.data());
  double loss = 0;
  for (int64_t length = 1; length <= reference.config.context; ++length) {
    Floats logits = ops::Poisoned(reference.config.vocab);
    model.NextLogits(weights, reference.tokens.data(), length, logits.data());
    double sum = 0;
    for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
    loss += std::log(sum) - logits[reference.targets[length - 1]];
  }
  GptBatch first = reference.Batch();
  first.batch = 1;
  EXPECT_NEAR(model.Loss(weights, first), loss, 1e-3);
}

}  // namespace
}  // namespace muster::worker
