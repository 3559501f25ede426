#ifndef MUSTER_COORDINATOR_RPC_LOG_STREAM_H_
#define MUSTER_COORDINATOR_RPC_LOG_STREAM_H_

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "common/clock.h"
#include "coordinator/rpc/reply_stream.h"
#include "coordinator/runtime/driver.h"
#include "coordinator/runtime/executor.h"
#include "coordinator/runtime/job_signal.h"
#include "coordinator/runtime/log_reader.h"
#include "coordinator/runtime/log_store.h"
#include "proto/ctl.grpc.pb.h"

namespace muster::coordinator {

// CtlService.StreamLogs. Following, it ends once the job has finished and the logs of its last gang have come in whole,
// or kGrace after the job's end, since those of a lost node may never come.
class LogStream final : public ReplyStream<v1::LogLines> {
 public:
  static constexpr absl::Duration kGrace = absl::Seconds(5);

  struct Needs {
    Driver* driver;
    JobSignal* changed;
    LogStore* logs;
    Executor* disk;
    Executor* timers;
    Clock* clock;
    OpenStreams* open;
  };

  LogStream(const Needs& needs, v1::StreamLogsRequest request);
  void Start();

 private:
  // How a finished job ended, as far as its logs go.
  struct JobEnd {
    Generation generation;
    std::vector<int> ranks;
    absl::Time at;
  };

  void OnWritten() override;
  void OnOver() override;

  std::shared_ptr<LogStream> Self();
  template <typename F>
  std::function<void()> Weakly(F f);
  void Begin(const Driver::Snapshot& snapshot);
  void OnJobChange();
  void LookAtJob(const Driver::Snapshot& snapshot);
  // There may be something to read.
  void Poke();
  // On the disk's thread.
  void ReadSome();
  bool NothingMoreComes() const;

  const Needs needs_;
  const v1::StreamLogsRequest request_;

  // Of the disk's thread, one read at a time.
  std::unique_ptr<LogReader> reader_;

  mutable std::mutex mu_;
  // Guarded by mu_.
  JobId job_;
  std::vector<JobSignal::Subscription> subscriptions_;
  std::optional<JobEnd> finish_;
  bool busy_ = true;     // a read is planned or its lines are being written
  bool changed_ = true;  // since the last read began
};

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_RPC_LOG_STREAM_H_
