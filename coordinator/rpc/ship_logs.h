#ifndef MUSTER_COORDINATOR_RPC_SHIP_LOGS_H_
#define MUSTER_COORDINATOR_RPC_SHIP_LOGS_H_

#include <grpcpp/support/server_callback.h>

#include <memory>
#include <mutex>
#include <optional>

#include "absl/status/status.h"
#include "coordinator/rpc/open_streams.h"
#include "coordinator/runtime/executor.h"
#include "coordinator/runtime/log_store.h"
#include "proto/agent.grpc.pb.h"

namespace muster::coordinator {

// One agent's stream of logs: a chunk is kept, then acknowledged, then the next one is read.
class ShipLogsStream final : public grpc::ServerBidiReactor<v1::LogChunk, v1::LogAck>,
                             public OpenStream,
                             public std::enable_shared_from_this<ShipLogsStream> {
 public:
  // `disk` runs what waits for the disk.
  ShipLogsStream(LogStore* store, Executor* disk, OpenStreams* open);

  // Starts to read. gRPC keeps the object until the call is over.
  void Open();
  void End(const absl::Status& status) override;

 private:
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;
  void Keep();

  LogStore* const store_;
  Executor* const disk_;
  OpenStreams* const open_;

  // Each has one user at a time: the read, then the disk's thread, then the write.
  v1::LogChunk chunk_;
  v1::LogAck ack_;

  std::mutex mu_;
  // Guarded by mu_.
  bool writing_ = false;
  std::optional<absl::Status> end_;
  std::shared_ptr<ShipLogsStream> self_;
};

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_RPC_SHIP_LOGS_H_
