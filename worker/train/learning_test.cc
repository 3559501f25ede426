// The trainer learns real text.

#include <array>
#include <cmath>
#include <fstream>
#include <iterator>
#include <string>

#include "gtest/gtest.h"
#include "worker/train/testing.h"

namespace muster::worker {
namespace {

// The loss of a model that knows how often each byte comes, and nothing else.
double FrequencyLoss(const std::string& text) {
  std::array<double, 256> counts{};
  for (const char c : text) ++counts[static_cast<uint8_t>(c)];
  double loss = 0;
  for (const double count : counts) {
    if (count > 0)
      loss -= count / static_cast<double>(text.size()) * std::log(count / static_cast<double>(text.size()));
  }
  return loss;
}

TEST(LearningTest, LossOnRealTextFallsFarBelowThatOfItsBytesAlone) {
  std::ifstream file("worker/train/testdata/text.txt", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  ASSERT_GT(text.size(), 4000);
  std::vector<int32_t> tokens;
  for (const char c : text) tokens.push_back(static_cast<uint8_t>(c));
  v1::TrainSpec spec = SmallSpec();
  spec.mutable_model()->set_vocab(256);
  spec.mutable_model()->set_channels(64);
  spec.mutable_model()->set_context(64);
  spec.mutable_batch()->set_global(16);
  spec.mutable_batch()->set_micro(4);
  spec.mutable_schedule()->set_lr(2e-3);
  spec.mutable_schedule()->set_warmup_steps(20);
  spec.mutable_schedule()->set_decay_steps(200);
  const FakeDataset data(tokens, 64);
  Gang gang(spec, 2, data);
  const double first = gang.Step().loss;
  EXPECT_NEAR(first, std::log(256), 0.2);
  double last = first;
  for (int step = 1; step < 200; ++step) last = gang.Step().loss;
  EXPECT_LT(last, FrequencyLoss(text) - 0.6);
  EXPECT_GT(last, 0.5);
}

}  // namespace
}  // namespace muster::worker
