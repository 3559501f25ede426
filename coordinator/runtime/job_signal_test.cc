#include "coordinator/runtime/job_signal.h"

#include "gtest/gtest.h"

namespace muster::coordinator {
namespace {

TEST(JobSignalTest, NotifyReachesSubscribersOfTheJobOnly) {
  JobSignal signal;
  int a = 0;
  int b = 0;
  const auto first = signal.Subscribe(JobId("a-1"), [&] { ++a; });
  const auto second = signal.Subscribe(JobId("a-1"), [&] { ++a; });
  const auto other = signal.Subscribe(JobId("b-2"), [&] { ++b; });
  signal.Notify(JobId("a-1"));
  signal.Notify(JobId("nobody-3"));
  EXPECT_EQ(a, 2);
  EXPECT_EQ(b, 0);
}

TEST(JobSignalTest, SubscriptionEndsWithItsOwner) {
  JobSignal signal;
  int calls = 0;
  {
    JobSignal::Subscription moved;
    {
      auto subscription = signal.Subscribe(JobId("a-1"), [&] { ++calls; });
      moved = std::move(subscription);
    }
    EXPECT_EQ(signal.size(), 1);
    signal.Notify(JobId("a-1"));
  }
  EXPECT_EQ(signal.size(), 0);
  signal.Notify(JobId("a-1"));
  EXPECT_EQ(calls, 1);
}

TEST(JobSignalTest, SubscriberMayUnsubscribeWithinItsCall) {
  JobSignal signal;
  JobSignal::Subscription subscription;
  subscription = signal.Subscribe(JobId("a-1"), [&] { subscription.Reset(); });
  signal.Notify(JobId("a-1"));
  EXPECT_EQ(signal.size(), 0);
}

}  // namespace
}  // namespace muster::coordinator
