#include "worker/train/step_totals.h"

#include <limits>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/comm/in_process.h"

namespace muster::worker {
namespace {

using ::testing::HasSubstr;

std::vector<absl::StatusOr<StepTotals>> Sum(const std::vector<StepPart>& parts) {
  const auto comms = NewInProcessGroup(static_cast<int>(parts.size()));
  std::vector<absl::StatusOr<StepTotals>> totals(parts.size(), absl::UnknownError("not run"));
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < parts.size(); ++rank) {
    threads.emplace_back([&, rank] { totals[rank] = SumOverRanks(comms[rank].get(), 7, parts[rank]); });
  }
  for (std::thread& thread : threads) thread.join();
  return totals;
}

TEST(StepTotalsTest, SumsLossesAndSquaresOverRanks) {
  for (const auto& totals :
       Sum({{.loss = 1, .gradient_squares = 9}, {}, {.loss = 2, .gradient_squares = 16, .flag = true}})) {
    ASSERT_TRUE(totals.ok());
    EXPECT_EQ(totals->loss, 3);
    EXPECT_EQ(totals->grad_norm, 5);
    EXPECT_TRUE(totals->flag);
  }
}

TEST(StepTotalsTest, NamesStepAndRankOfWhatIsNotFinite) {
  const auto expect = [](const std::vector<StepPart>& parts, const char* words) {
    for (const auto& totals : Sum(parts)) {
      EXPECT_EQ(totals.status().code(), absl::StatusCode::kFailedPrecondition);
      EXPECT_THAT(std::string(totals.status().message()), HasSubstr(words));
    }
  };
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  expect({{}, {.loss = kNan, .gradients_finite = false, .gradient_squares = kNan}, {.gradient_squares = kNan}},
         "step 7: the loss of rank 1 is not finite (nan)");
  expect({{.loss = 1}, {.loss = 1}, {.loss = 1, .gradients_finite = false, .gradient_squares = kInfinity}},
         "step 7: gradients of rank 2 are not finite");
  expect({{.loss = 1}, {.loss = 1, .gradient_squares = 1e300}},
         "step 7: the norm of the gradients summed over ranks is not finite");
}

}  // namespace
}  // namespace muster::worker
