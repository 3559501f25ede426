#include "coordinator/rpc/server.h"

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/version.h"
#include "coordinator/rpc/test_agent.h"
#include "coordinator/storage/memory_state_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/ctl.grpc.pb.h"

namespace muster::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::Duration kPatience = absl::Seconds(60);

// A store whose commits wait while it is held.
class HeldStore final : public StateStore {
 public:
  explicit HeldStore(MemoryStateStore::Disk* disk) : store_(disk) {}
  absl::StatusOr<std::map<std::string, std::string>> Load() override { return store_.Load(); }
  absl::Status Commit(const Batch& batch) override {
    std::unique_lock<std::mutex> lock(mu_);
    waiting_ = true;
    cv_.notify_all();
    cv_.wait(lock, [&] { return !held_; });
    waiting_ = false;
    return store_.Commit(batch);
  }
  void Hold() {
    std::lock_guard<std::mutex> lock(mu_);
    held_ = true;
  }
  void AwaitCommit() {
    std::unique_lock<std::mutex> lock(mu_);
    cv_.wait(lock, [&] { return waiting_; });
  }
  void Release() {
    {
      std::lock_guard<std::mutex> lock(mu_);
      held_ = false;
    }
    cv_.notify_all();
  }

 private:
  MemoryStateStore store_;
  std::mutex mu_;
  std::condition_variable cv_;
  bool held_ = false;
  bool waiting_ = false;
};

class ServerTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = testing::TempDir() + "/serverXXXXXX";
    ASSERT_NE(::mkdtemp(dir_.data()), nullptr);
    Start();
  }
  void TearDown() override {
    store_.Release();
    server_.reset();
    std::filesystem::remove_all(dir_);
  }

  void Start() {
    server_.reset();
    ServerOptions options;
    options.listen = "127.0.0.1:0";
    options.logs.dir = dir_ + "/logs";
    options.logs.min_free_bytes = 0;
    options.core.gather_window = absl::ZeroDuration();
    // Long, so that a slow machine loses no node.
    options.core.lease = absl::Minutes(10);
    auto server = CoordinatorServer::Start(options, &store_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    ctl_ = v1::CtlService::NewStub(
        grpc::CreateChannel(absl::StrCat("127.0.0.1:", server_->port()), grpc::InsecureChannelCredentials()));
  }

  static v1::SubmitJobRequest Submission(const std::string& name) {
    v1::SubmitJobRequest request;
    request.set_protocol(kProtocolVersion);
    request.set_version(kVersion);
    request.set_token("token of job " + name + " ................");
    request.mutable_spec()->set_name(name);
    request.mutable_spec()->add_command("true");
    return request;
  }
  grpc::Status Submit(const v1::SubmitJobRequest& request, v1::JobView* job) {
    grpc::ClientContext context;
    return ctl_->SubmitJob(&context, request, job);
  }
  std::vector<std::string> JobIds() {
    grpc::ClientContext context;
    v1::ListJobsReply reply;
    const grpc::Status status = ctl_->ListJobs(&context, {}, &reply);
    EXPECT_TRUE(status.ok()) << status.error_message();
    std::vector<std::string> ids;
    for (const v1::JobView& job : reply.jobs()) ids.push_back(job.job_id());
    return ids;
  }
  std::vector<v1::NodeView> Nodes() {
    grpc::ClientContext context;
    v1::ListNodesReply reply;
    EXPECT_TRUE(ctl_->ListNodes(&context, {}, &reply).ok());
    return {reply.nodes().begin(), reply.nodes().end()};
  }
  // Asks again until it is so.
  static void Await(const char* what, const std::function<bool()>& is_so) {
    const absl::Time deadline = absl::Now() + kPatience;
    while (!is_so()) ASSERT_LT(absl::Now(), deadline) << what;
  }

  std::string dir_;
  MemoryStateStore::Disk disk_;
  HeldStore store_{&disk_};
  std::unique_ptr<CoordinatorServer> server_;
  std::unique_ptr<v1::CtlService::Stub> ctl_;
};

TEST_F(ServerTest, SubmitIsAnsweredOnlyOnceTheJobIsDurable) {
  store_.Hold();
  std::atomic<bool> answered = false;
  std::thread client([&] {
    v1::JobView job;
    const grpc::Status status = Submit(Submission("a"), &job);
    answered = true;
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(job.job_id(), "a-1");
    EXPECT_EQ(MemoryStateStore(&disk_).Load()->count("job/a-1"), 1);
  });
  store_.AwaitCommit();
  EXPECT_FALSE(answered);
  store_.Release();
  client.join();
}

TEST_F(ServerTest, RestartKeepsJobsAndTokens) {
  v1::JobView job;
  ASSERT_TRUE(Submit(Submission("a"), &job).ok());
  Start();
  EXPECT_THAT(JobIds(), ElementsAre("a-1"));
  ASSERT_TRUE(Submit(Submission("a"), &job).ok());
  EXPECT_EQ(job.job_id(), "a-1");
  EXPECT_THAT(JobIds(), ElementsAre("a-1"));
}

TEST_F(ServerTest, BadSpecIsRefusedAndNothingStored) {
  v1::SubmitJobRequest request = Submission("a");
  request.mutable_spec()->mutable_nodes()->set_min(3);
  request.mutable_spec()->mutable_nodes()->set_max(2);
  v1::JobView job;
  const grpc::Status status = Submit(request, &job);
  EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT) << status.error_message();
  EXPECT_THAT(status.error_message(), HasSubstr("nodes"));
  EXPECT_TRUE(JobIds().empty());
}

TEST_F(ServerTest, OtherProtocolIsRefusedInOneLineEverywhere) {
  v1::JobView job;
  v1::SubmitJobRequest submission = Submission("a");
  submission.set_protocol(kProtocolVersion + 1);
  submission.set_version("9.9.9");
  grpc::Status status = Submit(submission, &job);
  EXPECT_EQ(status.error_code(), grpc::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("9.9.9"));

  grpc::ClientContext context;
  v1::ClusterView cluster;
  status = ctl_->GetCluster(&context, {}, &cluster);
  EXPECT_EQ(status.error_code(), grpc::FAILED_PRECONDITION);

  TestAgent agent(server_->port());
  v1::Register registration = TestRegistration("n1", "uid");
  registration.set_protocol(kProtocolVersion + 1);
  EXPECT_FALSE(agent.Register(registration));
  status = agent.Finish();
  EXPECT_EQ(status.error_code(), grpc::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("protocol"));
}

TEST_F(ServerTest, ClusterCountsNodesAndJobs) {
  TestAgent agent(server_->port());
  ASSERT_TRUE(agent.Register(TestRegistration("n1", "uid")));
  v1::JobView job;
  v1::SubmitJobRequest submission = Submission("a");
  submission.mutable_spec()->mutable_nodes()->set_min(2);
  ASSERT_TRUE(Submit(submission, &job).ok());
  grpc::ClientContext context;
  v1::GetClusterRequest request;
  request.set_protocol(kProtocolVersion);
  v1::ClusterView cluster;
  ASSERT_TRUE(ctl_->GetCluster(&context, request, &cluster).ok());
  EXPECT_EQ(cluster.nodes_ready(), 1);
  EXPECT_EQ(cluster.jobs_unfinished(), 1);
  EXPECT_EQ(cluster.version(), kVersion);
  EXPECT_FALSE(cluster.cluster_id().empty());
}

TEST_F(ServerTest, UnknownJobIsNotFound) {
  {
    grpc::ClientContext context;
    v1::GetJobRequest request;
    request.set_job("nobody");
    v1::JobDetail detail;
    EXPECT_EQ(ctl_->GetJob(&context, request, &detail).error_code(), grpc::NOT_FOUND);
  }
  {
    grpc::ClientContext context;
    v1::CancelJobRequest request;
    request.set_job("nobody");
    v1::JobView job;
    EXPECT_EQ(ctl_->CancelJob(&context, request, &job).error_code(), grpc::NOT_FOUND);
  }
  {
    grpc::ClientContext context;
    v1::JobSnapshot snapshot;
    v1::WatchJobRequest request;
    auto stream = ctl_->WatchJob(&context, request);
    EXPECT_FALSE(stream->Read(&snapshot));
    EXPECT_EQ(stream->Finish().error_code(), grpc::NOT_FOUND);
  }
  {
    grpc::ClientContext context;
    v1::LogLines lines;
    auto stream = ctl_->StreamLogs(&context, {});
    EXPECT_FALSE(stream->Read(&lines));
    EXPECT_EQ(stream->Finish().error_code(), grpc::NOT_FOUND);
  }
  {
    grpc::ClientContext context;
    v1::StoredMetrics metrics;
    auto stream = ctl_->GetMetrics(&context, {});
    EXPECT_FALSE(stream->Read(&metrics));
    EXPECT_EQ(stream->Finish().error_code(), grpc::NOT_FOUND);
  }
}

TEST_F(ServerTest, SecondAgentOfANodeIdIsKeptOut) {
  TestAgent first(server_->port());
  ASSERT_TRUE(first.Register(TestRegistration("n1", "one")));
  TestAgent second(server_->port());
  EXPECT_FALSE(second.Register(TestRegistration("n1", "two")));
  const grpc::Status status = second.Finish();
  EXPECT_EQ(status.error_code(), grpc::ALREADY_EXISTS);
  EXPECT_THAT(status.error_message(), HasSubstr("n1"));
  v1::AgentMessage heartbeat;
  heartbeat.mutable_heartbeat()->set_seq(5);
  ASSERT_TRUE(first.Send(heartbeat));
  v1::CoordinatorMessage reply;
  EXPECT_TRUE(first.ReceiveUntil([](const auto& m) { return m.heartbeat_ack().seq() == 5; }, &reply));
}

TEST_F(ServerTest, NewerSessionOfAnAgentTakesOver) {
  TestAgent first(server_->port());
  ASSERT_TRUE(first.Register(TestRegistration("n1", "one")));
  TestAgent second(server_->port());
  ASSERT_TRUE(second.Register(TestRegistration("n1", "one")));
  v1::CoordinatorMessage message;
  while (first.Receive(&message)) {
  }
  EXPECT_EQ(first.Finish().error_code(), grpc::ABORTED);
  EXPECT_EQ(Nodes().at(0).state(), v1::NODE_READY);
}

TEST_F(ServerTest, SessionBeginsWithItsRegistration) {
  TestAgent agent(server_->port());
  v1::AgentMessage heartbeat;
  heartbeat.mutable_heartbeat();
  agent.Send(heartbeat);
  v1::CoordinatorMessage message;
  EXPECT_FALSE(agent.Receive(&message));
  EXPECT_EQ(agent.Finish().error_code(), grpc::INVALID_ARGUMENT);
}

TEST_F(ServerTest, BrokenStreamMakesItsNodeUnreachable) {
  TestAgent agent(server_->port());
  ASSERT_TRUE(agent.Register(TestRegistration("n1", "one")));
  EXPECT_EQ(Nodes().at(0).state(), v1::NODE_READY);
  agent.Cancel();
  Await("unreachable", [&] { return Nodes().at(0).state() == v1::NODE_UNREACHABLE; });
  Await("session over", [&] { return server_->open_streams() == 0; });
}

TEST_F(ServerTest, FloodOfOneAgentEndsItsOwnSessionOnly) {
  TestAgent other(server_->port());
  ASSERT_TRUE(other.Register(TestRegistration("n2", "two")));
  std::atomic<bool> ended = false;
  std::thread flood([&] {
    TestAgent agent(server_->port());
    EXPECT_TRUE(agent.Register(TestRegistration("n1", "one")));
    v1::AgentMessage heartbeat;
    heartbeat.mutable_heartbeat()->set_seq(~uint64_t{0});
    // It never reads the answers.
    while (agent.Send(heartbeat)) {
    }
    ended = true;
  });
  v1::AgentMessage heartbeat;
  uint64_t seq = 0;
  while (!ended || seq < 20) {
    heartbeat.mutable_heartbeat()->set_seq(++seq);
    ASSERT_TRUE(other.Send(heartbeat));
    v1::CoordinatorMessage reply;
    ASSERT_TRUE(other.ReceiveUntil([&](const auto& m) { return m.heartbeat_ack().seq() == seq; }, &reply));
  }
  flood.join();
}

TEST_F(ServerTest, StopEndsSessionsAndWatchersWithUnavailable) {
  TestAgent agent(server_->port());
  ASSERT_TRUE(agent.Register(TestRegistration("n1", "one")));
  v1::JobView job;
  v1::SubmitJobRequest submission = Submission("a");
  submission.mutable_spec()->mutable_nodes()->set_min(2);
  ASSERT_TRUE(Submit(submission, &job).ok());
  grpc::ClientContext context;
  v1::WatchJobRequest request;
  request.set_job("a");
  auto watch = ctl_->WatchJob(&context, request);
  v1::JobSnapshot snapshot;
  ASSERT_TRUE(watch->Read(&snapshot));
  server_->Stop();
  while (watch->Read(&snapshot)) {
  }
  EXPECT_EQ(watch->Finish().error_code(), grpc::UNAVAILABLE);
  v1::CoordinatorMessage message;
  while (agent.Receive(&message)) {
  }
  EXPECT_EQ(agent.Finish().error_code(), grpc::UNAVAILABLE);
}

TEST_F(ServerTest, WatcherWhoseClientIsGoneIsForgotten) {
  v1::JobView job;
  ASSERT_TRUE(Submit(Submission("a"), &job).ok());
  grpc::ClientContext context;
  v1::WatchJobRequest request;
  request.set_job("a-1");
  auto watch = ctl_->WatchJob(&context, request);
  v1::JobSnapshot snapshot;
  ASSERT_TRUE(watch->Read(&snapshot));
  EXPECT_EQ(snapshot.job().state(), v1::PENDING);
  EXPECT_EQ(server_->open_streams(), 1);
  context.TryCancel();
  Await("watcher gone", [&] { return server_->open_streams() == 0; });
}

TEST_F(ServerTest, ListeningOnATakenPortIsOneLine) {
  ServerOptions options;
  options.listen = absl::StrCat("127.0.0.1:", server_->port());
  MemoryStateStore::Disk disk;
  MemoryStateStore store(&disk);
  const auto second = CoordinatorServer::Start(options, &store);
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(std::string(second.status().message()),
              testing::AllOf(HasSubstr(options.listen), HasSubstr("Address already in use")));
}

}  // namespace
}  // namespace muster::coordinator
