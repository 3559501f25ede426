#include "coordinator/rpc/agent_service.h"

#include <memory>

#include "coordinator/rpc/ship_logs.h"

namespace muster::coordinator {

grpc::ServerBidiReactor<v1::AgentMessage, v1::CoordinatorMessage>* AgentServiceImpl::Session(
    grpc::CallbackServerContext* context) {
  auto session = std::make_shared<AgentSession>(sessions_->NewId(), context, driver_, sessions_, open_);
  session->Open();
  return session.get();
}

grpc::ServerBidiReactor<v1::LogChunk, v1::LogAck>* AgentServiceImpl::ShipLogs(grpc::CallbackServerContext*) {
  auto stream = std::make_shared<ShipLogsStream>(driver_, logs_, disk_, open_);
  stream->Open();
  return stream.get();
}

}  // namespace muster::coordinator
