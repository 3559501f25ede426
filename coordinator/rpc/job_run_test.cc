// A job from its submission to its end, as its watchers see it.
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/version.h"
#include "coordinator/rpc/server.h"
#include "coordinator/rpc/test_agent.h"
#include "coordinator/storage/memory_state_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/ctl.grpc.pb.h"

namespace muster::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsSupersetOf;

class JobRunTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = testing::TempDir() + "/runXXXXXX";
    ASSERT_NE(::mkdtemp(dir_.data()), nullptr);
    ServerOptions options;
    options.listen = "127.0.0.1:0";
    options.logs.dir = dir_ + "/logs";
    options.logs.min_free_bytes = 0;
    options.core.gather_window = absl::ZeroDuration();
    options.core.lease = absl::Minutes(10);
    auto server = CoordinatorServer::Start(options, &store_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    ctl_ = v1::CtlService::NewStub(
        grpc::CreateChannel(absl::StrCat("127.0.0.1:", server_->port()), grpc::InsecureChannelCredentials()));

    v1::SubmitJobRequest request;
    request.set_protocol(kProtocolVersion);
    request.set_token("a token of enough characters");
    request.mutable_spec()->set_name("a");
    request.mutable_spec()->add_command("true");
    grpc::ClientContext context;
    v1::JobView job;
    ASSERT_TRUE(ctl_->SubmitJob(&context, request, &job).ok());
  }
  void TearDown() override {
    server_.reset();
    std::filesystem::remove_all(dir_);
  }

  // What `logs --follow` gets until the coordinator ends it.
  std::vector<std::string> FollowLogs(bool follow = true) {
    grpc::ClientContext context;
    v1::StreamLogsRequest request;
    request.set_job("a");
    request.set_follow(follow);
    auto stream = ctl_->StreamLogs(&context, request);
    std::vector<std::string> texts;
    for (v1::LogLines lines; stream->Read(&lines);) {
      for (const v1::LogLine& line : lines.lines()) texts.push_back(line.text());
    }
    const grpc::Status status = stream->Finish();
    EXPECT_TRUE(status.ok()) << status.error_message();
    return texts;
  }

  // Ships `data` as the whole rest of the log and returns the offset acknowledged last.
  static int64_t Ship(TestAgent& agent, const v1::GangAssignment& gang, int64_t offset, const std::string& data,
                      bool eof) {
    grpc::ClientContext context;
    auto stream = agent.stub()->ShipLogs(&context);
    v1::LogChunk chunk;
    chunk.set_job_id(gang.job_id());
    chunk.set_generation(gang.generation());
    chunk.set_node_id("n1");
    chunk.set_offset(offset);
    chunk.set_data(data);
    chunk.set_eof(eof);
    v1::LogAck ack;
    EXPECT_TRUE(stream->Write(chunk));
    EXPECT_TRUE(stream->Read(&ack));
    stream->WritesDone();
    EXPECT_TRUE(stream->Finish().ok());
    return ack.offset();
  }

  std::string dir_;
  MemoryStateStore::Disk disk_;
  MemoryStateStore store_{&disk_};
  std::unique_ptr<CoordinatorServer> server_;
  std::unique_ptr<v1::CtlService::Stub> ctl_;
};

constexpr char kOne[] = "2026-01-02T03:04:05Z stdout F one\n";
constexpr char kTwo[] = "2026-01-02T03:04:06Z stderr F two\n";

TEST_F(JobRunTest, WatchShowsTheStatesAndEndsWithTheJob) {
  std::vector<v1::JobState> states;
  std::vector<std::string> events;
  std::thread watcher([&] {
    grpc::ClientContext context;
    v1::WatchJobRequest request;
    request.set_job("a");
    auto stream = ctl_->WatchJob(&context, request);
    for (v1::JobSnapshot snapshot; stream->Read(&snapshot);) {
      states.push_back(snapshot.job().state());
      for (const v1::StoredEvent& event : snapshot.events()) events.push_back(event.type());
    }
    EXPECT_TRUE(stream->Finish().ok());
  });
  TestAgent agent(server_->port());
  ASSERT_TRUE(agent.Register(TestRegistration("n1", "one")));
  EXPECT_EQ(agent.RunNextJob(0, [](const auto&) {}).job_id(), "a-1");
  watcher.join();
  ASSERT_FALSE(states.empty());
  EXPECT_EQ(states.back(), v1::SUCCEEDED);
  EXPECT_EQ(std::count(states.begin(), states.end(), v1::SUCCEEDED), 1);
  EXPECT_THAT(events, IsSupersetOf({"JobSubmitted", "GenerationDecided"}));
  EXPECT_EQ(std::count(events.begin(), events.end(), "JobSubmitted"), 1) << "an event is told once";
}

TEST_F(JobRunTest, FollowedLogsEndOnceTheJobHasFinishedAndTheirEndCameIn) {
  std::vector<std::string> texts;
  std::thread follower([&] { texts = FollowLogs(); });
  TestAgent agent(server_->port());
  ASSERT_TRUE(agent.Register(TestRegistration("n1", "one")));
  const v1::GangAssignment gang = agent.RunNextJob(
      0, [&](const v1::GangAssignment& running) { EXPECT_EQ(Ship(agent, running, 0, kOne, false), sizeof(kOne) - 1); });
  Ship(agent, gang, sizeof(kOne) - 1, kTwo, true);
  const absl::Time eof = absl::Now();
  follower.join();
  EXPECT_THAT(texts, ElementsAre("one", "two"));
  EXPECT_LT(absl::Now() - eof, absl::Seconds(4)) << "it waited for the grace time though the log's end was there";
  EXPECT_THAT(FollowLogs(/*follow=*/false), ElementsAre("one", "two"));
}

TEST_F(JobRunTest, FollowedLogsEndWithoutTheirEndAfterAWhile) {
  TestAgent agent(server_->port());
  ASSERT_TRUE(agent.Register(TestRegistration("n1", "one")));
  agent.RunNextJob(0, [&](const v1::GangAssignment& running) { Ship(agent, running, 0, kOne, false); });
  EXPECT_THAT(FollowLogs(), ElementsAre("one"));
}

TEST_F(JobRunTest, LogsOfAnUnknownJobAreAcknowledgedAndDropped) {
  TestAgent agent(server_->port());
  v1::GangAssignment gang;
  gang.set_job_id("forgotten-7");
  gang.set_generation(1);
  EXPECT_EQ(Ship(agent, gang, 40, "bytes", true), 45);
  EXPECT_FALSE(std::filesystem::exists(dir_ + "/logs/forgotten-7"));
}

TEST_F(JobRunTest, ImpossibleLogChunkEndsTheStreamOnly) {
  TestAgent agent(server_->port());
  ASSERT_TRUE(agent.Register(TestRegistration("n1", "one")));
  grpc::ClientContext context;
  auto stream = agent.stub()->ShipLogs(&context);
  v1::LogChunk chunk;
  chunk.set_job_id("../../etc");
  chunk.set_generation(1);
  chunk.set_node_id("n1");
  ASSERT_TRUE(stream->Write(chunk));
  v1::LogAck ack;
  EXPECT_FALSE(stream->Read(&ack));
  EXPECT_EQ(stream->Finish().error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_EQ(agent.RunNextJob(0, [](const auto&) {}).job_id(), "a-1");
}

}  // namespace
}  // namespace muster::coordinator
