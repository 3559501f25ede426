// Programs of different protocol versions refuse each other in one clear line.
#include "common/version.h"

#include <grpcpp/grpcpp.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/agent.grpc.pb.h"
#include "tests/e2e/cluster.h"

namespace muster::e2e {
namespace {

using ::testing::HasSubstr;

constexpr char kRefusal[] = "this program speaks protocol 1, the coordinator (version 9.0.0) protocol 9; update it";

// A coordinator of a release to come.
class FutureCtl : public v1::CtlService::Service {
  grpc::Status GetCluster(grpc::ServerContext*, const v1::GetClusterRequest*, v1::ClusterView*) override {
    return {grpc::StatusCode::FAILED_PRECONDITION, kRefusal};
  }
};
class FutureAgents : public v1::AgentService::Service {
  grpc::Status Session(grpc::ServerContext*,
                       grpc::ServerReaderWriter<v1::CoordinatorMessage, v1::AgentMessage>*) override {
    return {grpc::StatusCode::FAILED_PRECONDITION, kRefusal};
  }
};

class FutureCoordinator {
 public:
  FutureCoordinator() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&ctl_);
    builder.RegisterService(&agents_);
    server_ = builder.BuildAndStart();
  }
  ~FutureCoordinator() { server_->Shutdown(absl::ToChronoTime(Now())); }
  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

 private:
  int port_ = 0;
  FutureCtl ctl_;
  FutureAgents agents_;
  std::unique_ptr<grpc::Server> server_;
};

TEST(Version, MusterctlRefusedByANewerCoordinatorSaysSo) {
  FutureCoordinator future;
  Cluster cluster;
  const CtlResult result = cluster.Ctl({"--coordinator", future.address(), "list"});
  EXPECT_EQ(result.code, 6) << result.err;
  EXPECT_EQ(result.out, "");
  const std::vector<std::string> lines = absl::StrSplit(result.err, '\n', absl::SkipEmpty());
  EXPECT_EQ(lines.size(), 1u) << result.err;
  EXPECT_THAT(result.err, HasSubstr("protocol"));
}

TEST(Version, AgentRefusedByANewerCoordinatorStops) {
  FutureCoordinator future;
  Cluster cluster;
  Process agent = cluster.StartStrayAgent("old", "n1", future.address());
  const std::optional<Ended> ended = agent.Wait(absl::Seconds(30));
  ASSERT_TRUE(ended.has_value()) << "it goes on trying";
  EXPECT_NE(ended->code, 0);
  EXPECT_THAT(cluster.Read("old.out") + cluster.Read("old.err"), HasSubstr("protocol"));
}

TEST(Version, CoordinatorRefusesANewerClient) {
  Cluster cluster;
  v1::SubmitJobRequest request;
  request.set_protocol(kProtocolVersion + 1);
  request.set_version("9.0.0");
  request.set_token("0123456789abcdef0123456789abcdef");
  request.mutable_spec()->set_name("future");
  request.mutable_spec()->add_command("true");
  v1::JobView view;
  grpc::ClientContext context;
  const grpc::Status status = cluster.stub().SubmitJob(&context, request, &view);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("9.0.0"));
  v1::ListJobsReply jobs;
  grpc::ClientContext list;
  ASSERT_TRUE(cluster.stub().ListJobs(&list, {}, &jobs).ok());
  EXPECT_EQ(jobs.jobs_size(), 0);
}

TEST(Version, CoordinatorRefusesANewerAgent) {
  Cluster cluster;
  const auto stub =
      v1::AgentService::NewStub(grpc::CreateChannel(cluster.address(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  const auto stream = stub->Session(&context);
  v1::AgentMessage hello;
  hello.mutable_register_()->set_protocol(kProtocolVersion + 1);
  hello.mutable_register_()->set_version("9.0.0");
  hello.mutable_register_()->set_node_id("future");
  hello.mutable_register_()->set_agent_uid("a");
  hello.mutable_register_()->set_incarnation("b");
  hello.mutable_register_()->set_address("127.0.0.1");
  stream->Write(hello);
  v1::CoordinatorMessage reply;
  EXPECT_FALSE(stream->Read(&reply)) << reply.DebugString();
  const grpc::Status status = stream->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("protocol"));
  EXPECT_EQ(cluster.Nodes().count("future"), 0u);
}

}  // namespace
}  // namespace muster::e2e
