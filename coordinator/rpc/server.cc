#include "coordinator/rpc/server.h"

#include <grpcpp/grpcpp.h>

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/random_id.h"
#include "common/status_macros.h"
#include "coordinator/rpc/agent_service.h"
#include "coordinator/rpc/agent_session.h"
#include "coordinator/rpc/ctl_service.h"
#include "coordinator/rpc/listen_address.h"
#include "coordinator/rpc/open_streams.h"
#include "coordinator/rpc/pending_requests.h"
#include "coordinator/runtime/driver.h"
#include "coordinator/runtime/executor.h"
#include "coordinator/runtime/job_signal.h"

namespace muster::coordinator {
namespace {

// Checkpoint manifests travel whole.
constexpr int kMaxMessageBytes = 64 << 20;
// Peers that are gone without a word (a pulled cable) are noticed by transport pings; the core does not wait for it.
constexpr int kKeepaliveMs = 2000;
constexpr int kKeepaliveTimeoutMs = 3000;
// Agents and musterctl may ping this often.
constexpr int kLeastPingIntervalMs = 500;
constexpr absl::Duration kStopGrace = absl::Seconds(2);

class Sinks final : public EffectSinks {
 public:
  Sinks(AgentSessions* sessions, PendingRequests* pending, JobSignal* changed)
      : sessions_(sessions), pending_(pending), changed_(changed) {}

  void Send(SessionId session, v1::CoordinatorMessage message) override {
    if (auto alive = sessions_->Find(session)) alive->Send(std::move(message));
  }
  void EndSession(SessionId session, const absl::Status& status) override {
    if (auto alive = sessions_->Find(session)) alive->End(status);
  }
  void Reply(RequestId request, absl::StatusOr<v1::JobView> result) override {
    pending_->Complete(request, std::move(result));
  }
  void JobsChanged(const std::set<JobId>& jobs) override {
    for (const JobId& job : jobs) changed_->Notify(job);
  }

 private:
  AgentSessions* const sessions_;
  PendingRequests* const pending_;
  JobSignal* const changed_;
};

class ServerImpl final : public CoordinatorServer {
 public:
  ServerImpl(ServerOptions options, StateStore* store, std::unique_ptr<Core> core, Effects initial)
      : options_(std::move(options)),
        logs_(options_.logs, options_.clock),
        sinks_(&sessions_, &pending_, &changed_),
        disk_(options_.clock),
        timers_(options_.clock),
        driver_(DriverOptionsOf(options_), std::move(core), std::move(initial), store, options_.clock, &sinks_),
        agent_service_(&driver_, &sessions_, &logs_, &disk_, &open_),
        ctl_service_({&driver_, &pending_, &changed_, &logs_, &disk_, &timers_, options_.clock, &open_}) {}

  ~ServerImpl() override { Stop(); }

  absl::Status Serve() {
    // What it would log of a failed start is said by our own errors, in one line.
    ::setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
    grpc::ServerBuilder builder;
    builder.AddListeningPort(options_.listen, grpc::InsecureServerCredentials(), &port_);
    // Two coordinators on one port would share its connections.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveTimeoutMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kLeastPingIntervalMs);
    builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
    builder.SetMaxSendMessageSize(kMaxMessageBytes);
    builder.RegisterService(&agent_service_);
    builder.RegisterService(&ctl_service_);
    driver_.Start();
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || port_ == 0) {
      return absl::UnavailableError(absl::StrCat("cannot listen on ", options_.listen));
    }
    return absl::OkStatus();
  }

  int port() const override { return port_; }
  size_t open_streams() const override { return open_.size(); }

  void Stop() override {
    if (stopped_) return;
    stopped_ = true;
    // First, so that the sessions that end now are not taken for nodes that are gone.
    driver_.Stop();
    const absl::Status stopping = absl::UnavailableError("the coordinator is stopping; try again");
    pending_.FailAll(stopping);
    open_.EndAll(stopping);
    if (server_ != nullptr) server_->Shutdown(absl::ToChronoTime(Clock::Real()->Now() + kStopGrace));
    if (server_ != nullptr) server_->Wait();
    timers_.Stop();
    disk_.Stop();
  }

 private:
  static DriverOptions DriverOptionsOf(const ServerOptions& options) {
    DriverOptions driver;
    driver.on_fatal = options.on_fatal;
    return driver;
  }

  const ServerOptions options_;
  LogStore logs_;
  AgentSessions sessions_;
  PendingRequests pending_;
  JobSignal changed_;
  OpenStreams open_;
  Sinks sinks_;
  Executor disk_;
  Executor timers_;
  Driver driver_;
  AgentServiceImpl agent_service_;
  CtlServiceImpl ctl_service_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
  bool stopped_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<CoordinatorServer>> CoordinatorServer::Start(ServerOptions options, StateStore* store) {
  MUSTER_RETURN_IF_ERROR(CheckListenAddress(options.listen));
  MUSTER_ASSIGN_OR_RETURN(const auto records, store->Load());
  Effects initial;
  MUSTER_ASSIGN_OR_RETURN(std::unique_ptr<Core> core,
                          Core::Load(options.core, records, options.clock->Now(), RandomId(), &initial));
  auto server = std::make_unique<ServerImpl>(std::move(options), store, std::move(core), std::move(initial));
  MUSTER_RETURN_IF_ERROR(server->Serve());
  return server;
}

}  // namespace muster::coordinator
