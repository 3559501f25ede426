#include "coordinator/runtime/driver.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/version.h"
#include "coordinator/core/views.h"
#include "coordinator/storage/memory_state_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// What happened, in order, as words.
class Journal {
 public:
  void Add(const std::string& word) {
    {
      std::lock_guard<std::mutex> lock(mu_);
      words_.push_back(word);
    }
    cv_.notify_all();
  }
  std::vector<std::string> Take() {
    std::lock_guard<std::mutex> lock(mu_);
    return std::exchange(words_, {});
  }
  // Until `word` has been there `count` times.
  void Await(const std::string& word, int count = 1) {
    std::unique_lock<std::mutex> lock(mu_);
    const bool there = cv_.wait_for(lock, std::chrono::seconds(60),
                                    [&] { return std::count(words_.begin(), words_.end(), word) >= count; });
    ASSERT_TRUE(there) << "no " << word;
  }

 private:
  std::mutex mu_;
  std::condition_variable cv_;
  std::vector<std::string> words_;
};

// A store that can be told to fail or to stand still.
class UnrulyStore final : public StateStore {
 public:
  UnrulyStore(MemoryStateStore::Disk* disk, Journal* journal) : store_(disk), journal_(journal) {}

  absl::StatusOr<std::map<std::string, std::string>> Load() override { return store_.Load(); }
  absl::Status Commit(const Batch& batch) override {
    std::unique_lock<std::mutex> lock(mu_);
    if (held_) journal_->Add("commit waits");
    cv_.wait(lock, [&] { return !held_; });
    journal_->Add(error_.ok() ? "commit" : "commit fails");
    return error_.ok() ? store_.Commit(batch) : error_;
  }

  void Fail(absl::Status error) {
    std::lock_guard<std::mutex> lock(mu_);
    error_ = std::move(error);
  }
  void Hold(bool held) {
    {
      std::lock_guard<std::mutex> lock(mu_);
      held_ = held;
    }
    cv_.notify_all();
  }

 private:
  MemoryStateStore store_;
  Journal* const journal_;
  std::mutex mu_;
  std::condition_variable cv_;
  absl::Status error_;
  bool held_ = false;
};

class JournalSinks final : public EffectSinks {
 public:
  explicit JournalSinks(Journal* journal) : journal_(journal) {}
  void Send(SessionId session, v1::CoordinatorMessage message) override {
    const char* what = message.has_welcome() ? "welcome" : message.has_heartbeat_ack() ? "ack" : "send";
    journal_->Add(absl::StrCat(what, " ", session.value()));
  }
  void EndSession(SessionId session, const absl::Status&) override {
    journal_->Add(absl::StrCat("end ", session.value()));
  }
  void Reply(RequestId request, absl::StatusOr<v1::JobView> result) override {
    journal_->Add(absl::StrCat(result.ok() ? "reply " : "refuse ", request.value()));
  }
  void JobsChanged(const std::set<JobId>& jobs) override {
    for (const JobId& job : jobs) journal_->Add(absl::StrCat("changed ", job.value()));
  }

 private:
  Journal* const journal_;
};

ClientSubmitted Submit(uint64_t request, const std::string& name) {
  ClientSubmitted event{RequestId(request), {}};
  event.submit.set_protocol(kProtocolVersion);
  event.submit.set_token(absl::StrCat("a token of sixteen or more ", request));
  event.submit.mutable_spec()->set_name(name);
  event.submit.mutable_spec()->add_command("true");
  return event;
}

AgentConnected Connect(uint64_t session, const std::string& node) {
  AgentConnected event{SessionId(session), {}};
  event.registration.set_protocol(kProtocolVersion);
  event.registration.set_node_id(node);
  event.registration.set_agent_uid("uid of " + node);
  event.registration.set_incarnation("1");
  event.registration.set_address("10.0.0.1");
  event.registration.add_slots()->set_device(v1::CPU);
  return event;
}

AgentSaid Heartbeat(uint64_t session) {
  AgentSaid event{SessionId(session), {}};
  event.message.mutable_heartbeat();
  return event;
}

class DriverTest : public testing::Test {
 protected:
  // With the cluster's own first record stored.
  void Start() {
    Effects initial;
    auto core = Core::Load(CoreOptions{}, store_.Load().value(), clock_.Now(), "cluster", &initial);
    ASSERT_TRUE(core.ok()) << core.status();
    DriverOptions options;
    options.on_fatal = [this](const absl::Status&) { journal_.Add("fatal"); };
    driver_ = std::make_unique<Driver>(options, *std::move(core), std::move(initial), &store_, &clock_, &sinks_);
    driver_->Start();
    Sync();
    journal_.Take();
  }

  // All that was posted before has been stepped, and its effects handed on if the store lets them.
  absl::StatusCode Sync() {
    std::promise<absl::StatusCode> done;
    driver_->Read([&](const absl::StatusOr<Driver::Snapshot>& s) { done.set_value(s.status().code()); });
    return done.get_future().get();
  }

  void Advance(absl::Duration d) {
    for (constexpr absl::Duration kTick = absl::Milliseconds(100); d > absl::ZeroDuration(); d -= kTick) {
      clock_.Advance(std::min(d, kTick));
      driver_->Wake();
      Sync();
    }
  }

  v1::NodeState StateOfOnlyNode() {
    std::promise<v1::NodeState> state;
    driver_->Read(
        [&](absl::StatusOr<Driver::Snapshot> s) { state.set_value(ViewsOfNodes(s->core->state()).at(0).state()); });
    return state.get_future().get();
  }

  FakeClock clock_;
  Journal journal_;
  MemoryStateStore::Disk disk_;
  UnrulyStore store_{&disk_, &journal_};
  JournalSinks sinks_{&journal_};
  std::unique_ptr<Driver> driver_;
};

TEST_F(DriverTest, EffectsComeAfterTheCommit) {
  Start();
  driver_->Post(Submit(7, "a"));
  Sync();
  EXPECT_THAT(journal_.Take(), ElementsAre("commit", "reply 7", "changed a-1"));
}

TEST_F(DriverTest, EventsThatWaitShareACommit) {
  Start();
  store_.Hold(true);
  driver_->Post(Submit(1, "a"));
  journal_.Await("commit waits");
  for (int i = 2; i <= 6; ++i) driver_->Post(Submit(i, absl::StrCat("b", i)));
  journal_.Take();
  store_.Hold(false);
  Sync();
  const std::vector<std::string> words = journal_.Take();
  EXPECT_EQ(std::count(words.begin(), words.end(), "commit"), 2);
  for (int i = 1; i <= 6; ++i) EXPECT_EQ(std::count(words.begin(), words.end(), absl::StrCat("reply ", i)), 1) << i;
}

TEST_F(DriverTest, NothingToStoreMakesNoCommit) {
  Start();
  driver_->Post(Connect(1, "n1"));
  Sync();
  journal_.Take();
  driver_->Post(Heartbeat(1));
  driver_->Post(ClientCancelled{RequestId(3), "nobody"});
  Sync();
  EXPECT_THAT(journal_.Take(), ElementsAre("ack 1", "refuse 3"));
}

TEST_F(DriverTest, FailingStoreHoldsEffectsUntilItWorks) {
  Start();
  store_.Fail(absl::ResourceExhaustedError("disk full"));
  driver_->Post(Submit(1, "a"));
  EXPECT_EQ(Sync(), absl::StatusCode::kUnavailable);
  driver_->Post(Submit(2, "b"));
  EXPECT_EQ(Sync(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(journal_.Take(), ElementsAre("commit fails"));

  Advance(absl::Milliseconds(100));
  EXPECT_THAT(journal_.Take(), ElementsAre("commit fails"));
  Advance(absl::Milliseconds(100));
  EXPECT_THAT(journal_.Take(), IsEmpty()) << "the second wait is longer";

  store_.Fail(absl::OkStatus());
  Advance(absl::Milliseconds(100));
  EXPECT_EQ(Sync(), absl::StatusCode::kOk);
  EXPECT_THAT(journal_.Take(), ElementsAre("commit", "reply 1", "reply 2", "changed a-1", "changed b-2"));
  EXPECT_EQ(store_.Load()->count("job/b-2"), 1);
}

TEST_F(DriverTest, FailingStoreCostsNoNodeItsLease) {
  Start();
  driver_->Post(Connect(1, "n1"));
  Sync();
  journal_.Take();
  store_.Fail(absl::ResourceExhaustedError("disk full"));
  driver_->Post(Submit(1, "a"));
  for (int i = 0; i < 60; ++i) {
    driver_->Post(Heartbeat(1));
    Advance(absl::Milliseconds(100));
  }
  std::vector<std::string> words = journal_.Take();
  EXPECT_EQ(std::count(words.begin(), words.end(), "ack 1"), 60);
  EXPECT_EQ(std::count(words.begin(), words.end(), "reply 1"), 0);
  // Silent for longer than its lease, but nobody can be told while nothing can be stored.
  Advance(absl::Seconds(5));
  store_.Fail(absl::OkStatus());
  driver_->Post(Heartbeat(1));
  Advance(absl::Seconds(1));
  EXPECT_EQ(StateOfOnlyNode(), v1::NODE_READY);
}

TEST_F(DriverTest, StoreOwnedByAnotherIsFatalAndNothingIsSent) {
  Start();
  store_.Fail(absl::FailedPreconditionError("another coordinator owns it"));
  driver_->Post(Submit(1, "a"));
  journal_.Await("fatal");
  EXPECT_THAT(journal_.Take(), ElementsAre("commit fails", "fatal"));
  driver_->Post(Submit(2, "b"));
  EXPECT_EQ(Sync(), absl::StatusCode::kUnavailable);
  driver_->Stop();
  EXPECT_THAT(journal_.Take(), IsEmpty());
}

TEST_F(DriverTest, DeadlineOfTheCoreIsStepped) {
  Start();
  driver_->Post(Connect(1, "n1"));
  Sync();
  Advance(absl::Milliseconds(2900));
  EXPECT_EQ(StateOfOnlyNode(), v1::NODE_READY);
  Advance(absl::Milliseconds(200));
  EXPECT_EQ(StateOfOnlyNode(), v1::NODE_LOST);
}

TEST_F(DriverTest, OwnStallIsNotTakenForSilence) {
  Start();
  driver_->Post(Connect(1, "n1"));
  Sync();
  clock_.Advance(absl::Milliseconds(3200));
  driver_->Wake();
  EXPECT_EQ(StateOfOnlyNode(), v1::NODE_READY);
  // What it sent meanwhile arrives a little later.
  Advance(absl::Milliseconds(300));
  driver_->Post(Heartbeat(1));
  Advance(absl::Seconds(2));
  EXPECT_EQ(StateOfOnlyNode(), v1::NODE_READY);
}

TEST_F(DriverTest, WhatWaitsIsSteppedBeforeADeadline) {
  Start();
  driver_->Post(Connect(1, "n1"));
  Sync();
  Advance(absl::Milliseconds(2500));
  // The store is slow; the heartbeat comes in while it is, behind more than one batch of other events.
  store_.Hold(true);
  driver_->Post(Submit(1, "a"));
  journal_.Await("commit waits");
  for (int i = 0; i < 300; ++i) driver_->Post(Heartbeat(99));
  driver_->Post(Heartbeat(1));
  clock_.Advance(absl::Milliseconds(550));
  store_.Hold(false);
  EXPECT_EQ(StateOfOnlyNode(), v1::NODE_READY);
}

TEST_F(DriverTest, SourceIsToldThatItsEventWasTaken) {
  Start();
  std::atomic<int> taken = 0;
  for (int i = 0; i < 1000; ++i) driver_->Post(Heartbeat(1), [&] { ++taken; });
  Sync();
  EXPECT_EQ(taken, 1000);
}

TEST_F(DriverTest, NextProcessKnowsTheJobs) {
  Start();
  driver_->Post(Submit(1, "a"));
  journal_.Await("reply 1");
  driver_.reset();
  Start();
  size_t jobs = 0;
  driver_->Read([&](absl::StatusOr<Driver::Snapshot> s) { jobs = ViewsOfJobs(s->core->state(), false).size(); });
  Sync();
  EXPECT_EQ(jobs, 1);
}

}  // namespace
}  // namespace muster::coordinator
