#include "tools/musterctl/rpc/grpc_client.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "common/version.h"
#include "proto/ctl.grpc.pb.h"
#include "tools/musterctl/exit_code.h"
#include "tools/musterctl/rpc/grpc_status.h"

namespace muster::ctl {
namespace {

// A coordinator that is there answers in milliseconds; this is for one that hangs.
constexpr absl::Duration kCallTimeout = absl::Seconds(30);
constexpr absl::Duration kRetryPause = absl::Milliseconds(100);

class GrpcClient : public CtlClient {
 public:
  explicit GrpcClient(GrpcClientOptions options) : options_(std::move(options)) {
    grpc::ChannelArguments arguments;
    // Answers grow with the number of steps and events of a job.
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
    // A silent host must not look like a job without news.
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
    // The coordinator is a host of the cluster, and never behind the proxy that a shell's environment names.
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    channel_ = grpc::CreateCustomChannel(options_.address, grpc::InsecureChannelCredentials(), arguments);
    stub_ = v1::CtlService::NewStub(channel_);
  }

  absl::StatusOr<v1::ClusterView> GetCluster() override {
    v1::GetClusterRequest request;
    request.set_protocol(kProtocolVersion);
    request.set_version(kVersion);
    v1::ClusterView view;
    absl::Status status = Call(request, &view, &v1::CtlService::Stub::GetCluster);
    // The one precondition of this call.
    if (absl::IsFailedPrecondition(status)) return MarkVersionMismatch(status);
    if (absl::IsUnimplemented(status)) {
      return Unreachable(absl::StrCat("what answers there is no coordinator (", status.message(), ")"));
    }
    MUSTER_RETURN_IF_ERROR(status);
    if (view.protocol() != kProtocolVersion) {
      return MarkVersionMismatch(absl::FailedPreconditionError(absl::StrCat(
          "musterctl ", kVersion, " speaks protocol ", kProtocolVersion, ", the coordinator at ", options_.address,
          " is ", view.version(), " with protocol ", view.protocol(), "; use the musterctl of its release")));
    }
    return view;
  }

  absl::StatusOr<v1::JobView> SubmitJob(const v1::JobSpec& spec, const std::string& token) override {
    v1::SubmitJobRequest request;
    request.set_protocol(kProtocolVersion);
    request.set_version(kVersion);
    *request.mutable_spec() = spec;
    request.set_token(token);
    return Unary<v1::JobView>(request, &v1::CtlService::Stub::SubmitJob);
  }

  absl::StatusOr<v1::JobDetail> GetJob(const std::string& job) override {
    v1::GetJobRequest request;
    request.set_job(job);
    return Unary<v1::JobDetail>(request, &v1::CtlService::Stub::GetJob);
  }

  absl::StatusOr<v1::ListJobsReply> ListJobs(bool unfinished_only) override {
    v1::ListJobsRequest request;
    request.set_unfinished_only(unfinished_only);
    return Unary<v1::ListJobsReply>(request, &v1::CtlService::Stub::ListJobs);
  }

  absl::StatusOr<v1::JobView> CancelJob(const std::string& job) override {
    v1::CancelJobRequest request;
    request.set_job(job);
    return Unary<v1::JobView>(request, &v1::CtlService::Stub::CancelJob);
  }

  absl::StatusOr<v1::ListNodesReply> ListNodes() override {
    return Unary<v1::ListNodesReply>(v1::ListNodesRequest(), &v1::CtlService::Stub::ListNodes);
  }

  absl::StatusOr<v1::ListCheckpointsReply> ListCheckpoints(const std::string& job) override {
    v1::ListCheckpointsRequest request;
    request.set_job(job);
    return Unary<v1::ListCheckpointsReply>(request, &v1::CtlService::Stub::ListCheckpoints);
  }

  absl::StatusOr<std::vector<v1::StoredStep>> GetMetrics(const std::string& job) override {
    v1::GetMetricsRequest request;
    request.set_job(job);
    std::vector<v1::StoredStep> steps;
    MUSTER_RETURN_IF_ERROR(Retry(absl::InfiniteFuture(), [&](grpc::ClientContext& context) {
      steps.clear();
      auto reader = stub_->GetMetrics(&context, request);
      v1::StoredMetrics block;
      while (reader->Read(&block)) steps.insert(steps.end(), block.steps().begin(), block.steps().end());
      return reader->Finish();
    }));
    return steps;
  }

  absl::Status WatchJob(const std::string& job, absl::Time deadline,
                        const std::function<bool(const v1::JobSnapshot&)>& on_snapshot) override {
    v1::WatchJobRequest request;
    request.set_job(job);
    return Retry(deadline, [&](grpc::ClientContext& context) {
      return Stream(context, stub_->WatchJob(&context, request), on_snapshot);
    });
  }

  absl::Status StreamLogs(const v1::StreamLogsRequest& request,
                          const std::function<bool(const v1::LogLines&)>& on_lines) override {
    return Retry(absl::InfiniteFuture(), [&](grpc::ClientContext& context) {
      return Stream(context, stub_->StreamLogs(&context, request), on_lines);
    });
  }

  void OnTrouble(std::function<void(const std::string& reason)> on_trouble) override {
    on_trouble_ = std::move(on_trouble);
  }

 private:
  template <typename Message>
  grpc::Status Stream(grpc::ClientContext& context, std::unique_ptr<grpc::ClientReader<Message>> reader,
                      const std::function<bool(const Message&)>& on_message) {
    Message message;
    while (reader->Read(&message)) {
      last_contact_ = options_.clock->Now();
      if (!on_message(message)) {
        context.TryCancel();
        while (reader->Read(&message)) {
        }
        reader->Finish();
        return grpc::Status::OK;
      }
    }
    return reader->Finish();
  }

  template <typename Request, typename Reply>
  absl::Status Call(const Request& request, Reply* reply,
                    grpc::Status (v1::CtlService::Stub::*method)(grpc::ClientContext*, const Request&, Reply*)) {
    absl::Status status = Retry(absl::InfiniteFuture(), [&](grpc::ClientContext& context) {
      context.set_deadline(absl::ToChronoTime(options_.clock->Now() + kCallTimeout));
      return (stub_.get()->*method)(&context, request, reply);
    });
    if (!absl::IsDeadlineExceeded(status)) return status;
    return Unreachable(absl::StrCat("connected, but no answer within ", absl::FormatDuration(kCallTimeout)));
  }

  template <typename Reply, typename Request>
  absl::StatusOr<Reply> Unary(const Request& request,
                              grpc::Status (v1::CtlService::Stub::*method)(grpc::ClientContext*, const Request&,
                                                                           Reply*)) {
    Reply reply;
    MUSTER_RETURN_IF_ERROR(Call(request, &reply, method));
    return reply;
  }

  // Makes the call until it ends with anything but UNAVAILABLE, or it is time to give up.
  absl::Status Retry(absl::Time deadline, const std::function<grpc::Status(grpc::ClientContext&)>& call) {
    last_contact_ = options_.clock->Now();
    while (true) {
      MUSTER_RETURN_IF_ERROR(Connect(std::min(deadline, GiveUpAt()), deadline));
      grpc::ClientContext context;
      if (deadline != absl::InfiniteFuture()) context.set_deadline(absl::ToChronoTime(deadline));
      grpc::Status status = call(context);
      if (status.error_code() != grpc::StatusCode::UNAVAILABLE) {
        return ToAbslStatus(status);
      }
      std::string reason = ReasonOfFailedConnection(status);
      if (options_.clock->Now() >= GiveUpAt()) return Unreachable(reason);
      if (on_trouble_) on_trouble_(reason);
      Pause();
    }
  }

  absl::Time GiveUpAt() const { return last_contact_ + (reached_ ? options_.patience : options_.connect_timeout); }

  // Waits until the channel is connected.
  absl::Status Connect(absl::Time give_up, absl::Time deadline) {
    if (channel_->WaitForConnected(absl::ToChronoTime(give_up))) {
      reached_ = true;
      return absl::OkStatus();
    }
    if (give_up == deadline) return absl::DeadlineExceededError("the time given is over");
    // The state has no words; a call that fails at once has.
    if (channel_->GetState(false) != GRPC_CHANNEL_TRANSIENT_FAILURE) return Unreachable("no answer");
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(options_.clock->Now() + kRetryPause));
    v1::ClusterView view;
    grpc::Status status = stub_->GetCluster(&context, v1::GetClusterRequest(), &view);
    if (status.error_code() == grpc::StatusCode::UNAVAILABLE) return Unreachable(ReasonOfFailedConnection(status));
    return Unreachable("no answer");
  }

  absl::Status Unreachable(const std::string& reason) const {
    return absl::UnavailableError(
        absl::StrCat("cannot reach the coordinator at ", options_.address, ": ", reason,
                     "; check that muster-coordinator runs there, or name another with --coordinator HOST:PORT"));
  }

  // A coordinator that is stopping refuses at once; this keeps the tries apart.
  void Pause() {
    std::mutex mutex;
    std::condition_variable nobody;
    std::unique_lock<std::mutex> lock(mutex);
    options_.clock->WaitUntil(lock, nobody, options_.clock->Now() + kRetryPause, [] { return false; });
  }

  const GrpcClientOptions options_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::CtlService::Stub> stub_;
  std::function<void(const std::string& reason)> on_trouble_;
  // Whether there ever was a connection, and when the last answer came (or the current call began).
  bool reached_ = false;
  absl::Time last_contact_;
};

}  // namespace

std::unique_ptr<CtlClient> NewGrpcClient(GrpcClientOptions options) {
  return std::make_unique<GrpcClient>(std::move(options));
}

}  // namespace muster::ctl
