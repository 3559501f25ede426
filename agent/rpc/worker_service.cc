#include "agent/rpc/worker_service.h"

#include <grpcpp/grpcpp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "proto/worker.grpc.pb.h"

namespace muster::agent {

class WorkerServer::Impl final : public v1::WorkerService::CallbackService {
 public:
  explicit Impl(std::function<void(Event)> on_event) : on_event_(std::move(on_event)) {}

  absl::Status Listen(const std::string& path) {
    // Nobody else is on it: the state folder is locked.
    ::unlink(path.c_str());
    grpc::ServerBuilder builder;
    builder.AddListeningPort(absl::StrCat("unix:", path), grpc::InsecureServerCredentials());
    builder.SetMaxReceiveMessageSize(-1);
    builder.SetMaxSendMessageSize(-1);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) return absl::InternalError(absl::StrCat("cannot listen on ", path));
    ::chmod(path.c_str(), 0700);  // workers run as the agent's user
    return absl::OkStatus();
  }

  void Shutdown() {
    if (server_ == nullptr) return;
    std::map<CallId, std::unique_ptr<Open>> open;
    {
      std::lock_guard<std::mutex> lock(mu_);
      stopped_ = true;
      open.swap(open_);
    }
    for (const auto& [id, call] : open) call->Fail(grpc::Status(grpc::StatusCode::UNAVAILABLE, "the agent stops"));
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::milliseconds(200));
    server_->Wait();
  }

  void Answer(CallId id, absl::StatusOr<WorkerReply> reply) {
    const std::unique_ptr<Open> call = Take(id);
    if (call == nullptr) return;
    if (reply.ok()) {
      call->Succeed(*std::move(reply));
    } else {
      // The two libraries' codes are the same numbers.
      call->Fail(
          grpc::Status(static_cast<grpc::StatusCode>(reply.status().code()), std::string(reply.status().message())));
    }
  }

  grpc::ServerUnaryReactor* Hello(grpc::CallbackServerContext*, const v1::HelloRequest* request,
                                  v1::HelloReply* reply) override {
    return Begin<HelloCalled>(*request, reply);
  }
  grpc::ServerUnaryReactor* Join(grpc::CallbackServerContext*, const v1::JoinRequest* request,
                                 v1::JoinReply* reply) override {
    return Begin<JoinCalled>(*request, reply);
  }
  grpc::ServerUnaryReactor* Report(grpc::CallbackServerContext*, const v1::ReportRequest* request,
                                   v1::ReportReply* reply) override {
    return Begin<ReportCalled>(*request, reply);
  }

 private:
  // Deletes itself once gRPC is done with it; finished exactly once, by whoever takes it out of open_.
  class Reactor final : public grpc::ServerUnaryReactor {
   public:
    Reactor(Impl* service, CallId id) : service_(service), id_(id) {}
    void OnDone() override { delete this; }
    void OnCancel() override { service_->Cancelled(id_); }

   private:
    Impl* const service_;
    const CallId id_;
  };

  // A call without its answer.
  struct Open {
    virtual ~Open() = default;
    virtual void Succeed(WorkerReply reply) = 0;
    virtual void Fail(const grpc::Status& status) = 0;
  };

  template <typename R>
  struct OpenCall final : Open {
    OpenCall(Reactor* reactor, R* reply) : reactor(reactor), reply(reply) {}
    void Succeed(WorkerReply result) override {
      *reply = std::get<R>(std::move(result));
      reactor->Finish(grpc::Status::OK);
    }
    void Fail(const grpc::Status& status) override { reactor->Finish(status); }
    Reactor* const reactor;
    R* const reply;
  };

  template <typename E, typename Q, typename R>
  grpc::ServerUnaryReactor* Begin(const Q& request, R* reply) {
    CallId id;
    Reactor* reactor;
    {
      std::lock_guard<std::mutex> lock(mu_);
      id = CallId(++last_id_);
      reactor = new Reactor(this, id);
      if (!stopped_) open_[id] = std::make_unique<OpenCall<R>>(reactor, reply);
      if (stopped_) {
        reactor->Finish(grpc::Status(grpc::StatusCode::UNAVAILABLE, "the agent stops"));
        return reactor;
      }
    }
    on_event_(E{id, request});
    return reactor;
  }

  std::unique_ptr<Open> Take(CallId id) {
    std::lock_guard<std::mutex> lock(mu_);
    const auto it = open_.find(id);
    if (it == open_.end()) return nullptr;
    std::unique_ptr<Open> call = std::move(it->second);
    open_.erase(it);
    return call;
  }

  void Cancelled(CallId id) {
    const std::unique_ptr<Open> call = Take(id);
    if (call == nullptr) return;
    on_event_(CallEnded{id});
    call->Fail(grpc::Status::CANCELLED);
  }

  const std::function<void(Event)> on_event_;
  std::mutex mu_;
  bool stopped_ = false;                          // guarded by mu_
  uint64_t last_id_ = 0;                          // guarded by mu_
  std::map<CallId, std::unique_ptr<Open>> open_;  // guarded by mu_
  std::unique_ptr<grpc::Server> server_;
};

absl::StatusOr<std::unique_ptr<WorkerServer>> WorkerServer::Start(const std::string& path,
                                                                  std::function<void(Event)> on_event) {
  auto impl = std::make_unique<Impl>(std::move(on_event));
  if (absl::Status status = impl->Listen(path); !status.ok()) return status;
  return std::unique_ptr<WorkerServer>(new WorkerServer(std::move(impl)));
}

WorkerServer::WorkerServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WorkerServer::~WorkerServer() { impl_->Shutdown(); }
void WorkerServer::Answer(CallId call, absl::StatusOr<WorkerReply> reply) { impl_->Answer(call, std::move(reply)); }

}  // namespace muster::agent
