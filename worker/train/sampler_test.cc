#include "worker/train/sampler.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "worker/model/random.h"

namespace muster::worker {
namespace {

TEST(PickTokenTest, FrequenciesFollowTheSoftmaxAtTheTemperature) {
  const std::vector<float> logits = {0, 1, -2, 0.5f};
  for (const double temperature : {0.5, 1.0, 2.0}) {
    std::vector<double> frequency(4);
    constexpr int kDraws = 40000;
    for (int i = 0; i < kDraws; ++i) frequency[PickToken(logits, temperature, RandomBitsAt(1, 2, i))] += 1.0 / kDraws;
    double sum = 0;
    for (const float logit : logits) sum += std::exp(logit / temperature);
    for (int i = 0; i < 4; ++i) EXPECT_NEAR(frequency[i], std::exp(logits[i] / temperature) / sum, 0.01);
  }
}

TEST(PickTokenTest, TemperatureZeroPicksTheLikeliest) {
  EXPECT_EQ(PickToken({0, 3, 3, 1}, 0, 12345), 1);
  EXPECT_EQ(PickToken({0, 3, 2, 1}, 1e-9, ~uint64_t{0}), 1);
}

TEST(PickTokenTest, ExtremeBitsAreInRange) {
  EXPECT_EQ(PickToken({0, 0, 0}, 1, 0), 0);
  EXPECT_EQ(PickToken({0, 0, 0}, 1, ~uint64_t{0}), 2);
}

std::string Text(const std::string& bytes) {
  std::vector<int32_t> tokens;
  for (const char c : bytes) tokens.push_back(static_cast<uint8_t>(c));
  return TextOf(tokens);
}

TEST(TextOfTest, KeepsTextAndSpellsTokensBeyondBytes) {
  EXPECT_EQ(Text("Plain text,\n\tand \xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"),
            "Plain text,\n\tand \xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  EXPECT_EQ(TextOf({72, 256, 105, 50256}), "H<256>i<50256>");
}

TEST(TextOfTest, ReplacesWhatIsNotACharacterOrNotSafeToPrint) {
  const std::string r = "\xEF\xBF\xBD";
  EXPECT_EQ(Text("a\xFFz"), "a" + r + "z");
  EXPECT_EQ(Text("\xC3"), r);
  EXPECT_EQ(Text("\xE2\x82z"), r + r + "z");
  EXPECT_EQ(Text("\xC0\x80"), r + r);
  EXPECT_EQ(Text("\xED\xA0\x80"), r + r + r);
  EXPECT_EQ(Text("\xF4\x90\x80\x80"), r + r + r + r);
  EXPECT_EQ(Text("\x1B[2J\r\x7F"), r + "[2J" + r + r);
  EXPECT_EQ(Text(std::string("\0", 1)), r);
}

}  // namespace
}  // namespace muster::worker
