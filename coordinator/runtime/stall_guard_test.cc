#include "coordinator/runtime/stall_guard.h"

#include "gtest/gtest.h"

namespace muster::coordinator {
namespace {

constexpr absl::Time kStart = absl::UnixEpoch();

TEST(StallGuardTest, RegularWakingHoldsNothing) {
  StallGuard guard(absl::Milliseconds(600), absl::Seconds(1));
  for (int i = 0; i < 20; ++i) {
    EXPECT_FALSE(guard.OnAwake(kStart + i * absl::Milliseconds(600)));
    EXPECT_EQ(guard.held_until(), absl::InfinitePast());
  }
}

TEST(StallGuardTest, GapHoldsDeadlinesForTheGrace) {
  StallGuard guard(absl::Milliseconds(600), absl::Seconds(1));
  EXPECT_FALSE(guard.OnAwake(kStart));
  EXPECT_TRUE(guard.OnAwake(kStart + absl::Milliseconds(601)));
  EXPECT_EQ(guard.held_until(), kStart + absl::Milliseconds(1601));
  EXPECT_FALSE(guard.OnAwake(kStart + absl::Milliseconds(700)));
}

}  // namespace
}  // namespace muster::coordinator
