#ifndef MUSTER_COORDINATOR_RPC_AGENT_SERVICE_H_
#define MUSTER_COORDINATOR_RPC_AGENT_SERVICE_H_

#include "coordinator/rpc/agent_session.h"
#include "coordinator/rpc/open_streams.h"
#include "coordinator/runtime/driver.h"
#include "coordinator/runtime/executor.h"
#include "coordinator/runtime/log_store.h"
#include "proto/agent.grpc.pb.h"

namespace muster::coordinator {

// See proto/agent.proto. Pointers outlive the service.
class AgentServiceImpl final : public v1::AgentService::CallbackService {
 public:
  AgentServiceImpl(Driver* driver, AgentSessions* sessions, LogStore* logs, Executor* disk, OpenStreams* open)
      : driver_(driver), sessions_(sessions), logs_(logs), disk_(disk), open_(open) {}

  grpc::ServerBidiReactor<v1::AgentMessage, v1::CoordinatorMessage>* Session(
      grpc::CallbackServerContext* context) override;
  grpc::ServerBidiReactor<v1::LogChunk, v1::LogAck>* ShipLogs(grpc::CallbackServerContext* context) override;

 private:
  Driver* const driver_;
  AgentSessions* const sessions_;
  LogStore* const logs_;
  Executor* const disk_;
  OpenStreams* const open_;
};

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_RPC_AGENT_SERVICE_H_
