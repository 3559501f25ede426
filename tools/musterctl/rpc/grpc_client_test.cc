#include "tools/musterctl/rpc/grpc_client.h"

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/version.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/ctl.grpc.pb.h"
#include "tools/musterctl/exit_code.h"

namespace muster::ctl {
namespace {

using ::testing::HasSubstr;

// A coordinator that does what a test tells it; told before it is started.
class FakeCtl : public v1::CtlService::Service {
 public:
  grpc::Status GetCluster(grpc::ServerContext*, const v1::GetClusterRequest* request, v1::ClusterView* view) override {
    EXPECT_EQ(request->protocol(), kProtocolVersion);
    if (!cluster_status.ok()) return cluster_status;
    view->set_protocol(protocol);
    view->set_version("9.9.9");
    return grpc::Status::OK;
  }

  grpc::Status SubmitJob(grpc::ServerContext*, const v1::SubmitJobRequest* request, v1::JobView* view) override {
    std::lock_guard<std::mutex> lock(mutex);
    tokens.push_back(request->token());
    if (--submits_to_refuse >= 0) return {grpc::StatusCode::UNAVAILABLE, "stopping"};
    if (!submit_status.ok()) return submit_status;
    view->set_job_id(request->spec().name() + "-1");
    return grpc::Status::OK;
  }

  grpc::Status WatchJob(grpc::ServerContext* context, const v1::WatchJobRequest*,
                        grpc::ServerWriter<v1::JobSnapshot>* writer) override {
    int call = ++watches;
    for (int i = 0; i < snapshots_a_stream; ++i) {
      v1::JobSnapshot snapshot;
      snapshot.mutable_job()->set_step(call * 100 + i);
      writer->Write(snapshot);
    }
    if (call <= streams_to_break) return {grpc::StatusCode::UNAVAILABLE, "stopping"};
    // Without an end: until the client has had enough.
    while (hang && !context->IsCancelled()) {
      v1::JobSnapshot again;
      again.mutable_job()->set_step(-1);
      if (!writer->Write(again)) break;
    }
    return grpc::Status::OK;
  }

  grpc::Status GetMetrics(grpc::ServerContext*, const v1::GetMetricsRequest*,
                          grpc::ServerWriter<v1::StoredMetrics>* writer) override {
    for (int block = 0; block < 2; ++block) {
      v1::StoredMetrics metrics;
      for (int i = 0; i < 3; ++i) metrics.add_steps()->mutable_metrics()->set_step(block * 3 + i + 1);
      writer->Write(metrics);
    }
    return grpc::Status::OK;
  }

  grpc::Status GetJob(grpc::ServerContext*, const v1::GetJobRequest* request, v1::JobDetail*) override {
    return {grpc::StatusCode::NOT_FOUND, absl::StrCat("no job '", request->job(), "'")};
  }

  grpc::Status cluster_status;
  grpc::Status submit_status;
  int protocol = kProtocolVersion;
  int submits_to_refuse = 0;
  int snapshots_a_stream = 1;
  int streams_to_break = 0;
  bool hang = false;
  std::atomic<int> watches = 0;
  std::vector<std::string> Tokens() {
    std::lock_guard<std::mutex> lock(mutex);
    return tokens;
  }

  std::mutex mutex;
  std::vector<std::string> tokens;
};

class GrpcClientTest : public ::testing::Test {
 protected:
  void Start() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&fake_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    client_ = NewClient(port_);
  }
  void TearDown() override {
    if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
  }
  static std::unique_ptr<CtlClient> NewClient(int port, absl::Duration timeout = absl::Seconds(30)) {
    return NewGrpcClient({.address = absl::StrCat("127.0.0.1:", port), .connect_timeout = timeout});
  }

  FakeCtl fake_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
  std::unique_ptr<CtlClient> client_;
};

TEST_F(GrpcClientTest, SubmitIsRepeatedWithTheSameToken) {
  fake_.submits_to_refuse = 2;
  Start();
  v1::JobSpec spec;
  spec.set_name("a");
  absl::StatusOr<v1::JobView> job = client_->SubmitJob(spec, "0123456789abcdef");
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->job_id(), "a-1");
  EXPECT_EQ(fake_.Tokens(), std::vector<std::string>(3, "0123456789abcdef"));
}

TEST_F(GrpcClientTest, RefusedSubmitIsNotRepeated) {
  fake_.submit_status = {grpc::StatusCode::ALREADY_EXISTS, "name: job a-1 has the name 'a'\nand more"};
  Start();
  absl::Status status = client_->SubmitJob({}, "0123456789abcdef").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(std::string(status.message()), "name: job a-1 has the name 'a' and more") << "one line";
  EXPECT_EQ(fake_.Tokens().size(), 1u);
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kFailed);
}

TEST_F(GrpcClientTest, NobodyThereIsUnreachable) {
  absl::Status status = NewClient(1, absl::Milliseconds(300))->ListJobs(false).status();
  EXPECT_EQ(
      std::string(status.message()),
      "cannot reach the coordinator at 127.0.0.1:1: connection refused; check that muster-coordinator runs there, or "
      "name another with --coordinator HOST:PORT");
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kUnreachable);
}

TEST_F(GrpcClientTest, AnotherProtocolIsAVersionMismatch) {
  fake_.protocol = kProtocolVersion + 1;
  Start();
  absl::Status status = client_->GetCluster().status();
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kVersionMismatch);
  EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat("musterctl ", kVersion)));
  EXPECT_THAT(std::string(status.message()), HasSubstr("9.9.9"));
}

TEST_F(GrpcClientTest, CoordinatorsRefusalIsAVersionMismatch) {
  fake_.cluster_status = {grpc::StatusCode::FAILED_PRECONDITION, "too old"};
  Start();
  EXPECT_EQ(ExitCodeOf(client_->GetCluster().status()), ExitCode::kVersionMismatch);
}

TEST_F(GrpcClientTest, OtherServiceIsNoCoordinator) {
  fake_.cluster_status = {grpc::StatusCode::UNIMPLEMENTED, "no such method"};
  Start();
  absl::Status status = client_->GetCluster().status();
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kUnreachable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("what answers there is no coordinator (no such method)"));
}

TEST_F(GrpcClientTest, UnknownJobIsNotFound) {
  Start();
  absl::Status status = client_->GetJob("x").status();
  EXPECT_EQ(status, absl::NotFoundError("no job 'x'"));
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kFailed);
}

TEST_F(GrpcClientTest, BrokenWatchGoesOn) {
  fake_.streams_to_break = 2;
  Start();
  int troubles = 0;
  std::vector<int64_t> steps;
  client_->OnTrouble([&](const std::string&) { ++troubles; });
  EXPECT_TRUE(client_
                  ->WatchJob("x", absl::InfiniteFuture(),
                             [&](const v1::JobSnapshot& snapshot) {
                               steps.push_back(snapshot.job().step());
                               return true;
                             })
                  .ok());
  EXPECT_EQ(steps, std::vector<int64_t>({100, 200, 300}));
  EXPECT_EQ(troubles, 2);
}

TEST_F(GrpcClientTest, WatchEndsWhenTheCallerHasEnough) {
  fake_.hang = true;
  Start();
  int seen = 0;
  EXPECT_TRUE(client_->WatchJob("x", absl::InfiniteFuture(), [&](const v1::JobSnapshot&) { return ++seen < 3; }).ok());
  EXPECT_EQ(seen, 3);
}

TEST_F(GrpcClientTest, WatchEndsAtItsDeadline) {
  fake_.hang = true;
  Start();
  absl::Status status = client_->WatchJob("x", Clock::Real()->Now() + absl::Milliseconds(200),
                                          [](const v1::JobSnapshot&) { return true; });
  EXPECT_EQ(ExitCodeOf(status), ExitCode::kTimeout) << status;
}

TEST_F(GrpcClientTest, MetricsOfAllBlocksComeInOrder) {
  Start();
  absl::StatusOr<std::vector<v1::StoredStep>> steps = client_->GetMetrics("x");
  ASSERT_TRUE(steps.ok()) << steps.status();
  ASSERT_EQ(steps->size(), 6u);
  for (int i = 0; i < 6; ++i) EXPECT_EQ((*steps)[i].metrics().step(), i + 1);
}

TEST(ExitCodeOf, EachKindHasItsNumber) {
  EXPECT_EQ(static_cast<int>(ExitCodeOf(absl::OkStatus())), 0);
  EXPECT_EQ(static_cast<int>(ExitCodeOf(absl::NotFoundError(""))), 1);
  EXPECT_EQ(static_cast<int>(ExitCodeOf(absl::FailedPreconditionError(""))), 1);
  EXPECT_EQ(static_cast<int>(ExitCodeOf(absl::InvalidArgumentError(""))), 2);
  EXPECT_EQ(static_cast<int>(ExitCodeOf(absl::DeadlineExceededError(""))), 4);
  EXPECT_EQ(static_cast<int>(ExitCodeOf(absl::UnavailableError(""))), 5);
  EXPECT_EQ(static_cast<int>(ExitCodeOf(MarkVersionMismatch(absl::FailedPreconditionError("")))), 6);
  EXPECT_EQ(static_cast<int>(ExitCodeOf(v1::SUCCEEDED)), 0);
  EXPECT_EQ(static_cast<int>(ExitCodeOf(v1::FAILED)), 1);
  EXPECT_EQ(static_cast<int>(ExitCodeOf(v1::CANCELLED)), 3);
}

}  // namespace
}  // namespace muster::ctl
