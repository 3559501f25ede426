#include "worker/comm/sum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace muster::worker {
namespace {

TEST(Sum, FloatsAreSummedInTheOrderOfTheParts) {
  // (1e8 + 1) - 1e8 is 0 in fp32, (1e8 - 1e8) + 1 is 1: the order shows.
  const float big = 1e8f, one = 1.f, minus = -1e8f;
  float out = 0;
  SumInOrder(DataType::kFloat32, {&big, &one, &minus}, 1, &out);
  EXPECT_EQ(out, 0.f);
  SumInOrder(DataType::kFloat32, {&big, &minus, &one}, 1, &out);
  EXPECT_EQ(out, 1.f);
}

TEST(Sum, OutMayBeAnyOfTheParts) {
  for (int alias = 0; alias < 3; ++alias) {
    std::vector<std::vector<int64_t>> parts(3, std::vector<int64_t>(5000));
    for (int p = 0; p < 3; ++p) {
      for (int i = 0; i < 5000; ++i) parts[p][i] = (p + 1) * i;
    }
    SumInOrder(DataType::kInt64, {parts[0].data(), parts[1].data(), parts[2].data()}, 5000, parts[alias].data());
    for (int i = 0; i < 5000; ++i) ASSERT_EQ(parts[alias][i], 6 * i);
  }
}

TEST(Bfloat16, RoundsToNearestEvenAndKeepsSpecialValues) {
  EXPECT_EQ(FloatToBfloat16(1.f), 0x3f80);
  // Half-way between 0x3f80 and 0x3f81, and between 0x3f81 and 0x3f82: both go to the even one.
  EXPECT_EQ(FloatToBfloat16(1.f + 1.f / 256), 0x3f80);
  EXPECT_EQ(FloatToBfloat16(1.f + 3.f / 256), 0x3f82);
  EXPECT_TRUE(std::isinf(Bfloat16ToFloat(FloatToBfloat16(std::numeric_limits<float>::infinity()))));
  EXPECT_TRUE(std::isnan(Bfloat16ToFloat(FloatToBfloat16(std::numeric_limits<float>::quiet_NaN()))));
}

}  // namespace
}  // namespace muster::worker
