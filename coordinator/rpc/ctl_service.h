#ifndef MUSTER_COORDINATOR_RPC_CTL_SERVICE_H_
#define MUSTER_COORDINATOR_RPC_CTL_SERVICE_H_

#include <functional>

#include "absl/time/time.h"
#include "common/clock.h"
#include "coordinator/rpc/open_streams.h"
#include "coordinator/rpc/pending_requests.h"
#include "coordinator/runtime/driver.h"
#include "coordinator/runtime/executor.h"
#include "coordinator/runtime/job_signal.h"
#include "coordinator/runtime/log_store.h"
#include "proto/ctl.grpc.pb.h"

namespace muster::coordinator {

// See proto/ctl.proto. Pointers outlive the service.
class CtlServiceImpl final : public v1::CtlService::CallbackService {
 public:
  struct Needs {
    Driver* driver;
    PendingRequests* pending;
    JobSignal* changed;
    LogStore* logs;
    Executor* disk;
    Executor* timers;
    Clock* clock;
    OpenStreams* open;
  };

  explicit CtlServiceImpl(const Needs& needs) : needs_(needs), started_at_(needs.clock->Now()) {}

  grpc::ServerUnaryReactor* GetCluster(grpc::CallbackServerContext* context, const v1::GetClusterRequest* request,
                                       v1::ClusterView* reply) override;
  grpc::ServerUnaryReactor* SubmitJob(grpc::CallbackServerContext* context, const v1::SubmitJobRequest* request,
                                      v1::JobView* reply) override;
  grpc::ServerUnaryReactor* GetJob(grpc::CallbackServerContext* context, const v1::GetJobRequest* request,
                                   v1::JobDetail* reply) override;
  grpc::ServerUnaryReactor* ListJobs(grpc::CallbackServerContext* context, const v1::ListJobsRequest* request,
                                     v1::ListJobsReply* reply) override;
  grpc::ServerUnaryReactor* CancelJob(grpc::CallbackServerContext* context, const v1::CancelJobRequest* request,
                                      v1::JobView* reply) override;
  grpc::ServerUnaryReactor* ListNodes(grpc::CallbackServerContext* context, const v1::ListNodesRequest* request,
                                      v1::ListNodesReply* reply) override;
  grpc::ServerUnaryReactor* ListCheckpoints(grpc::CallbackServerContext* context,
                                            const v1::ListCheckpointsRequest* request,
                                            v1::ListCheckpointsReply* reply) override;
  grpc::ServerWriteReactor<v1::JobSnapshot>* WatchJob(grpc::CallbackServerContext* context,
                                                      const v1::WatchJobRequest* request) override;
  grpc::ServerWriteReactor<v1::LogLines>* StreamLogs(grpc::CallbackServerContext* context,
                                                     const v1::StreamLogsRequest* request) override;
  grpc::ServerWriteReactor<v1::StoredMetrics>* GetMetrics(grpc::CallbackServerContext* context,
                                                          const v1::GetMetricsRequest* request) override;

 private:
  // Posts `event` and finishes the call with what the core replies, which it does once it is durable.
  void Ask(grpc::ServerUnaryReactor* reactor, v1::JobView* reply, std::function<Event(RequestId)> event);

  const Needs needs_;
  const absl::Time started_at_;
};

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_RPC_CTL_SERVICE_H_
