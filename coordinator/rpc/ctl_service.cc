#include "coordinator/rpc/ctl_service.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/proto_time.h"
#include "common/version.h"
#include "coordinator/core/views.h"
#include "coordinator/rpc/grpc_status.h"
#include "coordinator/rpc/log_stream.h"
#include "coordinator/rpc/metrics_stream.h"
#include "coordinator/rpc/watch_stream.h"

namespace muster::coordinator {
namespace {

absl::Status CheckProtocol(int protocol, const std::string& version) {
  if (protocol == kProtocolVersion) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("this client (version ", version.empty() ? "unknown" : version,
                                                    ") speaks protocol ", protocol, ", the coordinator (version ",
                                                    kVersion, ") protocol ", kProtocolVersion,
                                                    "; use the musterctl of the coordinator's release"));
}

// Answers from the state as it is now.
void Query(Driver* driver, grpc::ServerUnaryReactor* reactor,
           std::function<absl::Status(const State&, absl::Time)> query) {
  driver->Read([reactor, query = std::move(query)](absl::StatusOr<Driver::Snapshot> snapshot) {
    reactor->Finish(ToGrpc(snapshot.ok() ? query(snapshot->core->state(), snapshot->now) : snapshot.status()));
  });
}

}  // namespace

grpc::ServerUnaryReactor* CtlServiceImpl::GetCluster(grpc::CallbackServerContext* context,
                                                     const v1::GetClusterRequest* request, v1::ClusterView* reply) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  if (absl::Status status = CheckProtocol(request->protocol(), request->version()); !status.ok()) {
    reactor->Finish(ToGrpc(status));
    return reactor;
  }
  Query(needs_.driver, reactor, [reply, started = started_at_](const State& state, absl::Time) {
    reply->set_cluster_id(ClusterId(state));
    reply->set_version(kVersion);
    reply->set_protocol(kProtocolVersion);
    *reply->mutable_started_at() = ToProto(started);
    int ready = 0;
    for (const v1::NodeView& node : ViewsOfNodes(state)) ready += node.state() == v1::NODE_READY;
    reply->set_nodes_ready(ready);
    reply->set_jobs_unfinished(static_cast<int>(ViewsOfJobs(state, /*unfinished_only=*/true).size()));
    return absl::OkStatus();
  });
  return reactor;
}

void CtlServiceImpl::Ask(grpc::ServerUnaryReactor* reactor, v1::JobView* reply, std::function<Event(RequestId)> event) {
  // First a look whether the state can be stored at all: a client is told at once, and not kept until it can.
  needs_.driver->Read(
      [needs = needs_, reactor, reply, event = std::move(event)](absl::StatusOr<Driver::Snapshot> snapshot) {
        if (!snapshot.ok()) {
          reactor->Finish(ToGrpc(snapshot.status()));
          return;
        }
        const RequestId id = needs.pending->Add([reactor, reply](absl::StatusOr<v1::JobView> result) {
          if (result.ok()) *reply = *std::move(result);
          reactor->Finish(ToGrpc(result.status()));
        });
        needs.driver->Post(event(id));
      });
}

grpc::ServerUnaryReactor* CtlServiceImpl::SubmitJob(grpc::CallbackServerContext* context,
                                                    const v1::SubmitJobRequest* request, v1::JobView* reply) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  if (absl::Status status = CheckProtocol(request->protocol(), request->version()); !status.ok()) {
    reactor->Finish(ToGrpc(status));
  } else {
    Ask(reactor, reply, [submit = *request](RequestId id) { return ClientSubmitted{id, submit}; });
  }
  return reactor;
}

grpc::ServerUnaryReactor* CtlServiceImpl::CancelJob(grpc::CallbackServerContext* context,
                                                    const v1::CancelJobRequest* request, v1::JobView* reply) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  Ask(reactor, reply, [job = request->job()](RequestId id) { return ClientCancelled{id, job}; });
  return reactor;
}

grpc::ServerUnaryReactor* CtlServiceImpl::GetJob(grpc::CallbackServerContext* context, const v1::GetJobRequest* request,
                                                 v1::JobDetail* reply) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  Query(needs_.driver, reactor, [reply, name = request->job()](const State& state, absl::Time) {
    const absl::StatusOr<JobId> job = FindJob(state, name);
    if (job.ok()) *reply = DetailOfJob(state, *job);
    return job.status();
  });
  return reactor;
}

grpc::ServerUnaryReactor* CtlServiceImpl::ListJobs(grpc::CallbackServerContext* context,
                                                   const v1::ListJobsRequest* request, v1::ListJobsReply* reply) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  Query(needs_.driver, reactor, [reply, unfinished = request->unfinished_only()](const State& state, absl::Time) {
    for (v1::JobView& job : ViewsOfJobs(state, unfinished)) *reply->add_jobs() = std::move(job);
    return absl::OkStatus();
  });
  return reactor;
}

grpc::ServerUnaryReactor* CtlServiceImpl::ListNodes(grpc::CallbackServerContext* context, const v1::ListNodesRequest*,
                                                    v1::ListNodesReply* reply) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  Query(needs_.driver, reactor, [reply](const State& state, absl::Time) {
    for (v1::NodeView& node : ViewsOfNodes(state)) *reply->add_nodes() = std::move(node);
    return absl::OkStatus();
  });
  return reactor;
}

grpc::ServerUnaryReactor* CtlServiceImpl::ListCheckpoints(grpc::CallbackServerContext* context,
                                                          const v1::ListCheckpointsRequest* request,
                                                          v1::ListCheckpointsReply* reply) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  Query(needs_.driver, reactor, [reply, name = request->job()](const State& state, absl::Time) {
    const absl::StatusOr<JobId> job = FindJob(state, name);
    if (!job.ok()) return job.status();
    for (v1::StoredCheckpoint& c : CheckpointsOfJob(state, *job)) *reply->add_checkpoints() = std::move(c);
    return absl::OkStatus();
  });
  return reactor;
}

grpc::ServerWriteReactor<v1::JobSnapshot>* CtlServiceImpl::WatchJob(grpc::CallbackServerContext*,
                                                                    const v1::WatchJobRequest* request) {
  const WatchStream::Needs needs{needs_.driver, needs_.changed, needs_.timers, needs_.clock, needs_.open};
  auto stream = std::make_shared<WatchStream>(needs, request->job());
  stream->Start();
  return stream.get();
}

grpc::ServerWriteReactor<v1::LogLines>* CtlServiceImpl::StreamLogs(grpc::CallbackServerContext*,
                                                                   const v1::StreamLogsRequest* request) {
  const LogStream::Needs needs{needs_.driver, needs_.changed, needs_.logs, needs_.disk,
                               needs_.timers, needs_.clock,   needs_.open};
  auto stream = std::make_shared<LogStream>(needs, *request);
  stream->Start();
  return stream.get();
}

grpc::ServerWriteReactor<v1::StoredMetrics>* CtlServiceImpl::GetMetrics(grpc::CallbackServerContext*,
                                                                        const v1::GetMetricsRequest* request) {
  auto stream = std::make_shared<MetricsStream>(needs_.driver, needs_.open, request->job());
  stream->Start();
  return stream.get();
}

}  // namespace muster::coordinator
