#include "worker/rpc/agent_client.h"

#include <grpcpp/grpcpp.h>

#include <chrono>

#include "absl/strings/str_cat.h"
#include "proto/worker.grpc.pb.h"

namespace muster::worker {
namespace {

// Of calls that an agent answers at once: one that does not is as good as away.
constexpr std::chrono::seconds kCallDeadline(5);

// Checkpoint manifests travel in replies; a model of a thousand ranks has large ones.
constexpr int kLargestMessage = 256 << 20;

class AgentClient final : public AgentLink {
 public:
  explicit AgentClient(const std::string& path) {
    grpc::ChannelArguments args;
    // A restarting agent should be found again within a moment.
    args.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 20);
    args.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 20);
    args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 200);
    args.SetMaxReceiveMessageSize(kLargestMessage);
    args.SetMaxSendMessageSize(kLargestMessage);
    stub_ = v1::WorkerService::NewStub(
        grpc::CreateCustomChannel(absl::StrCat("unix:", path), grpc::InsecureChannelCredentials(), args));
  }

  absl::StatusOr<v1::HelloReply> Hello(const v1::HelloRequest& request) override {
    return Call<v1::HelloReply>(&v1::WorkerService::Stub::Hello, request, true);
  }
  absl::StatusOr<v1::JoinReply> Join(const v1::JoinRequest& request) override {
    return Call<v1::JoinReply>(&v1::WorkerService::Stub::Join, request, false);
  }
  absl::StatusOr<v1::ReportReply> Report(const v1::ReportRequest& request) override {
    return Call<v1::ReportReply>(&v1::WorkerService::Stub::Report, request, true);
  }

 private:
  template <typename Reply, typename Method, typename Request>
  absl::StatusOr<Reply> Call(Method method, const Request& request, bool at_once) {
    grpc::ClientContext context;
    if (at_once) context.set_deadline(std::chrono::system_clock::now() + kCallDeadline);
    Reply reply;
    const grpc::Status s = (stub_.get()->*method)(&context, request, &reply);
    if (s.ok()) return reply;
    if (at_once && s.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
      return absl::UnavailableError(absl::StrCat("the agent did not answer: ", s.error_message()));
    }
    // The two libraries' codes are the same numbers.
    return absl::Status(static_cast<absl::StatusCode>(s.error_code()), s.error_message());
  }

  std::unique_ptr<v1::WorkerService::Stub> stub_;
};

}  // namespace

std::unique_ptr<AgentLink> NewAgentClient(const std::string& path) { return std::make_unique<AgentClient>(path); }

}  // namespace muster::worker
