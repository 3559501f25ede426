#ifndef MUSTER_COORDINATOR_RPC_METRICS_STREAM_H_
#define MUSTER_COORDINATOR_RPC_METRICS_STREAM_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "coordinator/rpc/reply_stream.h"
#include "coordinator/runtime/driver.h"
#include "proto/ctl.grpc.pb.h"

namespace muster::coordinator {

// CtlService.GetMetrics: all steps there are now, some thousand a message.
class MetricsStream final : public ReplyStream<v1::StoredMetrics> {
 public:
  MetricsStream(Driver* driver, OpenStreams* open, std::string job);
  void Start();

 private:
  void OnWritten() override;
  void WriteNext();

  Driver* const driver_;
  const std::string job_;

  // Of whoever wrote last: the driver's thread at first, then the end of each write.
  JobId id_;
  std::vector<v1::StoredStep> steps_;
  size_t next_ = 0;
};

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_RPC_METRICS_STREAM_H_
