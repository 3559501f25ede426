#include "worker/rpc/agent_client.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "proto/worker.grpc.pb.h"

namespace muster::worker {
namespace {

class Service final : public v1::WorkerService::Service {
 public:
  grpc::Status Hello(grpc::ServerContext*, const v1::HelloRequest* request, v1::HelloReply* reply) override {
    if (request->worker().generation() != 3) return {grpc::StatusCode::FAILED_PRECONDITION, "generation 3 runs here"};
    reply->set_world_size(2);
    return grpc::Status::OK;
  }
  grpc::Status Join(grpc::ServerContext*, const v1::JoinRequest* request, v1::JoinReply* reply) override {
    reply->add_blobs(request->blob());
    return grpc::Status::OK;
  }
  grpc::Status Report(grpc::ServerContext*, const v1::ReportRequest* request, v1::ReportReply* reply) override {
    reply->set_committed_step(request->step());
    return grpc::Status::OK;
  }
};

std::string SocketPath() {
  // Unix socket paths are short; the test's own folder may not be.
  char folder[] = "/tmp/agentXXXXXX";
  return absl::StrCat(mkdtemp(folder), "/s");
}

std::unique_ptr<grpc::Server> Serve(const std::string& path, Service* service) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort(absl::StrCat("unix:", path), grpc::InsecureServerCredentials());
  builder.RegisterService(service);
  return builder.BuildAndStart();
}

v1::HelloRequest HelloOf(uint64_t generation) {
  v1::HelloRequest request;
  request.mutable_worker()->set_generation(generation);
  return request;
}

TEST(AgentClient, CallsReachTheAgentAndItsErrorsComeBack) {
  Service service;
  const std::string path = SocketPath();
  const auto server = Serve(path, &service);
  const auto agent = NewAgentClient(path);
  EXPECT_EQ(agent->Hello(HelloOf(3))->world_size(), 2);
  EXPECT_EQ(agent->Hello(HelloOf(2)).status(), absl::FailedPreconditionError("generation 3 runs here"));
  v1::JoinRequest join;
  // Any bytes.
  join.set_blob(std::string("\0\xff", 2));
  EXPECT_EQ(agent->Join(join)->blobs(0), join.blob());
  v1::ReportRequest report;
  report.set_step(5);
  EXPECT_EQ(agent->Report(report)->committed_step(), 5);
}

TEST(AgentClient, AnAgentThatIsNotThereIsUnavailableAndFoundOnceItIs) {
  Service service;
  const std::string path = SocketPath();
  const auto agent = NewAgentClient(path);
  EXPECT_TRUE(absl::IsUnavailable(agent->Hello(HelloOf(3)).status()));
  auto server = Serve(path, &service);
  EXPECT_TRUE(PatientHello(agent.get(), HelloOf(3), Clock::Real()).ok());
  // It restarts.
  server->Shutdown();
  server.reset();
  unlink(path.c_str());
  EXPECT_TRUE(absl::IsUnavailable(agent->Hello(HelloOf(3)).status()));
  server = Serve(path, &service);
  EXPECT_TRUE(PatientHello(agent.get(), HelloOf(3), Clock::Real()).ok());
}

}  // namespace
}  // namespace muster::worker
