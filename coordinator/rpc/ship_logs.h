#ifndef MUSTER_COORDINATOR_RPC_SHIP_LOGS_H_
#define MUSTER_COORDINATOR_RPC_SHIP_LOGS_H_

#include <grpcpp/support/server_callback.h>

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "coordinator/rpc/open_streams.h"
#include "coordinator/runtime/driver.h"
#include "coordinator/runtime/executor.h"
#include "coordinator/runtime/log_store.h"
#include "proto/agent.grpc.pb.h"

namespace muster::coordinator {

// One agent's stream of logs: a chunk is kept, then acknowledged, then the next one is read. Logs of a job that this
// coordinator does not know could never be read by anybody: they are acknowledged and dropped.
class ShipLogsStream final : public grpc::ServerBidiReactor<v1::LogChunk, v1::LogAck>,
                             public OpenStream,
                             public std::enable_shared_from_this<ShipLogsStream> {
 public:
  // `disk` runs what waits for the disk.
  ShipLogsStream(Driver* driver, LogStore* store, Executor* disk, OpenStreams* open);

  // Starts to read. gRPC keeps the object until the call is over.
  void Open();
  void End(const absl::Status& status) override;

 private:
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;
  // Keep the chunk or drop it, and acknowledge it.
  void Keep();
  void Drop();
  void Acknowledge(int64_t offset);

  Driver* const driver_;
  LogStore* const store_;
  Executor* const disk_;
  OpenStreams* const open_;

  // Each has one user at a time: the read, then the driver's or the disk's thread, then the write.
  v1::LogChunk chunk_;
  v1::LogAck ack_;
  std::set<std::string> known_jobs_;

  std::mutex mu_;
  // Guarded by mu_.
  bool writing_ = false;
  std::optional<absl::Status> end_;
  std::shared_ptr<ShipLogsStream> self_;
};

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_RPC_SHIP_LOGS_H_
