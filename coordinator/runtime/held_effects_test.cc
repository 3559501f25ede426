#include "coordinator/runtime/held_effects.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

Effects Puts(std::vector<Effects::Put> puts, std::vector<std::string> deletes = {}) {
  Effects effects;
  effects.puts = std::move(puts);
  effects.deletes = std::move(deletes);
  return effects;
}

Effects::Send Ack(uint64_t session) {
  Effects::Send send{SessionId(session), {}};
  send.message.mutable_heartbeat_ack();
  return send;
}

Effects::Send Welcome(uint64_t session) {
  Effects::Send send{SessionId(session), {}};
  send.message.mutable_welcome();
  return send;
}

TEST(HeldEffectsTest, LaterStepDecidesAboutAKey) {
  HeldEffects held;
  held.Add(Puts({{"put then deleted", "1"}, {"put twice", "1"}}, {"deleted then put"}));
  held.Add(Puts({{"deleted then put", "2"}, {"put twice", "2"}}, {"put then deleted"}));
  const StateStore::Batch batch = held.Batch();
  EXPECT_THAT(batch.puts, ElementsAre(Pair("deleted then put", "2"), Pair("put twice", "2")));
  EXPECT_THAT(batch.deletes, ElementsAre("put then deleted"));
}

TEST(HeldEffectsTest, ReleaseGivesEffectsInOrderAndHoldsNothing) {
  HeldEffects held;
  for (uint64_t n : {1, 2}) {
    Effects effects = Puts({{"k", "v"}});
    effects.replies.push_back({RequestId(n), absl::NotFoundError("x")});
    effects.end_sessions.push_back({SessionId(n), absl::AbortedError("x")});
    effects.changed.insert(JobId("j"));
    held.Add(std::move(effects));
  }
  EXPECT_TRUE(held.has_writes());
  EXPECT_EQ(held.size(), 5);
  const Effects released = held.Release();
  ASSERT_EQ(released.replies.size(), 2);
  EXPECT_EQ(released.replies[0].request, RequestId(1));
  EXPECT_EQ(released.end_sessions[1].session, SessionId(2));
  EXPECT_THAT(released.changed, ElementsAre(JobId("j")));
  EXPECT_TRUE(released.puts.empty());
  EXPECT_TRUE(held.empty());
  EXPECT_TRUE(held.Batch().puts.empty());
}

TEST(HeldEffectsTest, HeartbeatAckIsNotHeldUnlessItsWelcomeIs) {
  HeldEffects held;
  Effects effects;
  effects.sends = {Ack(1), Welcome(2), Ack(2)};
  const std::vector<Effects::Send> at_once = held.Add(std::move(effects));
  ASSERT_EQ(at_once.size(), 1);
  EXPECT_EQ(at_once[0].session, SessionId(1));
  EXPECT_EQ(held.Release().sends.size(), 2);
  Effects later;
  later.sends = {Ack(2)};
  EXPECT_EQ(held.Add(std::move(later)).size(), 1);
}

}  // namespace
}  // namespace muster::coordinator
