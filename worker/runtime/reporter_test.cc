#include "worker/runtime/reporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <vector>

namespace muster::worker {
namespace {

using testing::ElementsAre;

// Answers reports as told, and keeps them.
class ScriptedAgent final : public AgentLink {
 public:
  absl::StatusOr<v1::HelloReply> Hello(const v1::HelloRequest&) override { return Next(); }
  absl::StatusOr<v1::JoinReply> Join(const v1::JoinRequest&) override {
    if (absl::Status s = Next().status(); !s.ok()) return s;
    v1::JoinReply reply;
    reply.add_blobs("a");
    return reply;
  }
  absl::StatusOr<v1::ReportReply> Report(const v1::ReportRequest& request) override {
    std::lock_guard<std::mutex> lock(mu_);
    reports_.push_back(request);
    cv_.notify_all();
    if (!status_.ok()) return status_;
    return reply_;
  }

  void Answer(absl::Status status, v1::ReportReply reply = {}) {
    std::lock_guard<std::mutex> lock(mu_);
    status_ = std::move(status);
    reply_ = std::move(reply);
  }
  // Waits for a report that `matches`.
  bool WaitForReport(const std::function<bool(const v1::ReportRequest&)>& matches) {
    std::unique_lock<std::mutex> lock(mu_);
    return Clock::Real()->WaitUntil(lock, cv_, Clock::Real()->Now() + absl::Seconds(60), [&] {
      while (!reports_.empty()) {
        const bool found = matches(reports_.front());
        reports_.pop_front();
        if (found) return true;
      }
      return false;
    });
  }
  // The calls of Hello and Join fail so often.
  void Away(int times) { away_ = times; }

 private:
  absl::StatusOr<v1::HelloReply> Next() {
    if (away_-- > 0) return absl::UnavailableError("no socket");
    return v1::HelloReply();
  }

  int away_ = 0;
  std::mutex mu_;
  std::condition_variable cv_;
  absl::Status status_;
  v1::ReportReply reply_;
  std::deque<v1::ReportRequest> reports_;
};

v1::StepMetrics Metrics(int64_t step) {
  v1::StepMetrics m;
  m.set_step(step);
  return m;
}

std::vector<int64_t> Steps(const v1::ReportRequest& r) {
  std::vector<int64_t> steps;
  for (const auto& m : r.steps()) steps.push_back(m.step());
  return steps;
}

Reporter::Options Options(ScriptedAgent* agent) {
  v1::WorkerRef worker;
  worker.set_job_id("job-1");
  worker.set_generation(3);
  return {.agent = agent, .worker = worker};
}

TEST(Reporter, StepsAreToldAgainUntilTheAgentTookThem) {
  ScriptedAgent agent;
  agent.Answer(absl::UnavailableError("restarting"));
  Reporter reporter(Options(&agent));
  reporter.AddMetrics(Metrics(1));
  EXPECT_TRUE(agent.WaitForReport([](const auto& r) { return Steps(r) == std::vector<int64_t>{1}; }));
  reporter.AddMetrics(Metrics(2));
  EXPECT_TRUE(agent.WaitForReport([](const auto& r) { return Steps(r) == std::vector<int64_t>{1, 2}; }));
  EXPECT_FALSE(reporter.Flush(absl::Milliseconds(10)));
  agent.Answer(absl::OkStatus());
  EXPECT_TRUE(reporter.Flush(absl::Seconds(60)));
  EXPECT_TRUE(agent.WaitForReport([](const auto& r) { return r.steps().empty(); }));
}

TEST(Reporter, ManyStepsComeInOrderOverSeveralReports) {
  ScriptedAgent agent;
  agent.Answer(absl::UnavailableError("restarting"));
  Reporter reporter(Options(&agent));
  for (int i = 1; i <= 1000; ++i) reporter.AddMetrics(Metrics(i));
  std::vector<int64_t> seen;
  agent.Answer(absl::OkStatus());
  EXPECT_TRUE(agent.WaitForReport([&](const auto& r) {
    // The same ones until the first is taken.
    for (int64_t step : Steps(r)) {
      if (seen.empty() ? step == 1 : step == seen.back() + 1) seen.push_back(step);
    }
    return seen.size() == 1000;
  }));
}

TEST(Reporter, AShardIsToldUntilItsStepIsCommitted) {
  ScriptedAgent agent;
  Reporter reporter(Options(&agent));
  v1::ShardReport shard;
  shard.set_step(8);
  reporter.SetShard(shard);
  EXPECT_TRUE(agent.WaitForReport([](const auto& r) { return r.shard().step() == 8; }));
  EXPECT_TRUE(agent.WaitForReport([](const auto& r) { return r.shard().step() == 8; }));
  v1::ReportReply committed;
  committed.set_committed_step(8);
  agent.Answer(absl::OkStatus(), committed);
  EXPECT_TRUE(reporter.WaitFor(Clock::Real()->Now() + absl::Seconds(60),
                               [](const auto& d) { return d.committed_step() == 8; }));
  EXPECT_TRUE(agent.WaitForReport([](const auto& r) { return !r.has_shard(); }));
}

TEST(Reporter, EachPublicationIsToldOnce) {
  ScriptedAgent agent;
  Reporter reporter(Options(&agent));
  for (int64_t step : {4, 8}) {
    v1::CheckpointPublished published;
    published.set_step(step);
    reporter.AddPublished(published);
  }
  std::vector<int64_t> told;
  EXPECT_TRUE(agent.WaitForReport([&](const auto& r) {
    if (r.has_published()) told.push_back(r.published().step());
    return told.size() == 2 && !r.has_published();
  }));
  EXPECT_THAT(told, ElementsAre(4, 8));
}

TEST(Reporter, ADisownedWorkerIsToldOnceAndItsWaitsEnd) {
  ScriptedAgent agent;
  agent.Answer(absl::FailedPreconditionError("generation 3 is old"));
  absl::Status why;
  Reporter::Options options = Options(&agent);
  options.on_fenced = [&](const absl::Status& s) { why = s; };
  {
    Reporter reporter(std::move(options));
    EXPECT_FALSE(reporter.WaitFor(absl::InfiniteFuture(), [](const auto&) { return false; }));
    EXPECT_TRUE(reporter.fenced());
  }
  EXPECT_EQ(why.message(), "generation 3 is old");
}

TEST(Reporter, InterruptEndsWaits) {
  ScriptedAgent agent;
  Reporter reporter(Options(&agent));
  reporter.Interrupt();
  EXPECT_FALSE(reporter.WaitFor(absl::InfiniteFuture(), [](const auto&) { return false; }));
}

TEST(AgentLink, CallsAreRepeatedWhileTheAgentRestarts) {
  ScriptedAgent agent;
  agent.Away(3);
  EXPECT_TRUE(PatientHello(&agent, {}, Clock::Real()).ok());
  agent.Away(3);
  const auto blobs = PatientJoin(&agent, {}, 1, Clock::Real());
  ASSERT_TRUE(blobs.ok());
  EXPECT_THAT(*blobs, ElementsAre("a"));
}

TEST(AgentLink, PatienceEnds) {
  ScriptedAgent agent;
  agent.Away(1'000'000);
  EXPECT_TRUE(absl::IsUnavailable(PatientHello(&agent, {}, Clock::Real(), absl::Milliseconds(50)).status()));
}

TEST(AgentLink, TooFewRanksAreRefused) {
  ScriptedAgent agent;
  EXPECT_TRUE(absl::IsInternal(PatientJoin(&agent, {}, 2, Clock::Real()).status()));
}

}  // namespace
}  // namespace muster::worker
