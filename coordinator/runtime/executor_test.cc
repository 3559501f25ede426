#include "coordinator/runtime/executor.h"

#include <future>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::coordinator {
namespace {

using ::testing::ElementsAre;

// Returns once all that is due at `now` has run: tasks run by their times, and those of one time as they were given.
void Sync(Executor& executor, absl::Time now) {
  std::promise<void> done;
  executor.PostAt(now, [&] { done.set_value(); });
  done.get_future().wait();
}

TEST(ExecutorTest, RunsInTheOrderGiven) {
  Executor executor(Clock::Real());
  std::vector<int> ran;
  for (int i = 0; i < 3; ++i) executor.Post([&ran, i] { ran.push_back(i); });
  executor.Stop();
  EXPECT_THAT(ran, ElementsAre(0, 1, 2));
}

TEST(ExecutorTest, LaterTaskWaitsForItsTime) {
  FakeClock clock;
  std::vector<int> ran;
  Executor executor(&clock);
  executor.PostAt(clock.Now() + absl::Seconds(2), [&] { ran.push_back(2); });
  executor.PostAt(clock.Now() + absl::Seconds(1), [&] { ran.push_back(1); });
  Sync(executor, clock.Now());
  EXPECT_TRUE(ran.empty());
  clock.Advance(absl::Seconds(1));
  Sync(executor, clock.Now());
  EXPECT_THAT(ran, ElementsAre(1));
  clock.Advance(absl::Seconds(1));
  Sync(executor, clock.Now());
  EXPECT_THAT(ran, ElementsAre(1, 2));
}

TEST(ExecutorTest, StopDropsWhatIsNotDue) {
  FakeClock clock;
  bool ran = false;
  {
    Executor executor(&clock);
    executor.PostAt(clock.Now() + absl::Seconds(1), [&] { ran = true; });
  }
  EXPECT_FALSE(ran);
}

TEST(ExecutorTest, RealClockRunsALaterTask) {
  Executor executor(Clock::Real());
  std::promise<void> done;
  executor.PostAt(Clock::Real()->Now() + absl::Milliseconds(5), [&] { done.set_value(); });
  EXPECT_EQ(done.get_future().wait_for(std::chrono::seconds(30)), std::future_status::ready);
}

}  // namespace
}  // namespace muster::coordinator
