#ifndef MUSTER_COORDINATOR_RPC_TEST_AGENT_H_
#define MUSTER_COORDINATOR_RPC_TEST_AGENT_H_

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <string>

#include "proto/agent.grpc.pb.h"

namespace muster::coordinator {

v1::Register TestRegistration(const std::string& node, const std::string& uid);

// An agent's side of a session, for tests: blocking, on the thread that calls it.
class TestAgent {
 public:
  explicit TestAgent(int port);
  // Cancels.
  ~TestAgent();

  // Registers. True: welcomed.
  bool Register(const v1::Register& registration);
  bool Send(const v1::AgentMessage& message) { return stream_->Write(message); }
  bool Receive(v1::CoordinatorMessage* message) { return stream_->Read(message); }
  // Until `wanted`; false: the session has ended.
  bool ReceiveUntil(const std::function<bool(const v1::CoordinatorMessage&)>& wanted, v1::CoordinatorMessage* message);
  grpc::Status Finish() { return stream_->Finish(); }
  // As if the process were killed.
  void Cancel() { context_.TryCancel(); }

  // Plays the node's part in the next job's run: prepares, starts its workers, and has them exit with `exit_code`.
  // `running` is called between start and exit. Returns the assignment it launched.
  v1::GangAssignment RunNextJob(int exit_code, const std::function<void(const v1::GangAssignment&)>& running);

  v1::AgentService::Stub* stub() { return stub_.get(); }

 private:
  std::unique_ptr<v1::AgentService::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::AgentMessage, v1::CoordinatorMessage>> stream_;
};

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_RPC_TEST_AGENT_H_
