#ifndef MUSTER_AGENT_RPC_LOG_SHIPPER_H_
#define MUSTER_AGENT_RPC_LOG_SHIPPER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "agent/runtime/links.h"
#include "agent/runtime/network.h"
#include "common/clock.h"

namespace muster::agent {

struct LogShipperOptions {
  HostPort coordinator;
  std::string node_id;
  absl::Duration connect_timeout = absl::Seconds(1);
  absl::Duration first_pause = absl::Milliseconds(50);
  absl::Duration longest_pause = absl::Seconds(5);
  // The coordinator has all of a finished log. Called from the shipper's thread.
  std::function<void(const WorkerKey&)> on_shipped;
  Clock* clock = nullptr;
};

// Log files over one ShipLogs stream (proto/agent.proto), as they grow. After each connect it asks, with an empty
// chunk, from where to go on; the end of a log is told, alone, once everything before it is acknowledged.
class LogShipper final : public LogSink {
 public:
  explicit LogShipper(LogShipperOptions options);
  ~LogShipper() override;

  void Add(const WorkerKey& worker, const std::string& path) override;
  void Finish(const WorkerKey& worker) override;
  void Remove(const WorkerKey& worker) override;

  // Waits until every finished log is with the coordinator. False: not within `limit`.
  bool Flush(absl::Duration limit);

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_RPC_LOG_SHIPPER_H_
