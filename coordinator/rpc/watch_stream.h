#ifndef MUSTER_COORDINATOR_RPC_WATCH_STREAM_H_
#define MUSTER_COORDINATOR_RPC_WATCH_STREAM_H_

#include <memory>
#include <mutex>
#include <string>

#include "absl/time/time.h"
#include "common/clock.h"
#include "coordinator/rpc/reply_stream.h"
#include "coordinator/rpc/watch_cursor.h"
#include "coordinator/runtime/driver.h"
#include "coordinator/runtime/executor.h"
#include "coordinator/runtime/job_signal.h"
#include "proto/ctl.grpc.pb.h"

namespace muster::coordinator {

// CtlService.WatchJob: a snapshot at once, then one a change, but not within kInterval of the one before.
class WatchStream final : public ReplyStream<v1::JobSnapshot> {
 public:
  static constexpr absl::Duration kInterval = absl::Milliseconds(100);

  struct Needs {
    Driver* driver;
    JobSignal* changed;
    Executor* timers;
    Clock* clock;
    OpenStreams* open;
  };

  WatchStream(const Needs& needs, std::string job);
  void Start();

 private:
  void OnWritten() override;
  void OnOver() override;

  std::shared_ptr<WatchStream> Self();
  void Begin(const Driver::Snapshot& snapshot);
  void OnChange();
  // With mu_ held.
  void PlanLocked();
  void Take();

  const Needs needs_;
  const std::string job_;

  std::mutex mu_;
  // Guarded by mu_.
  std::unique_ptr<WatchCursor> cursor_;
  JobSignal::Subscription subscription_;
  bool changed_ = true;
  bool busy_ = true;  // a snapshot is planned, taken or written
  bool finished_ = false;
  absl::Time not_before_ = absl::InfinitePast();
};

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_RPC_WATCH_STREAM_H_
