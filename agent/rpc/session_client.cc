#include "agent/rpc/session_client.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <random>
#include <thread>

#include "absl/strings/str_cat.h"
#include "agent/rpc/channel.h"
#include "common/log.h"
#include "common/proto_time.h"
#include "common/random_id.h"
#include "proto/agent.grpc.pb.h"

namespace muster::agent {
namespace {

// A goodbye takes no longer.
constexpr absl::Duration kGoodbye = absl::Seconds(1);

bool IsFinal(grpc::StatusCode code) {
  return code == grpc::StatusCode::FAILED_PRECONDITION || code == grpc::StatusCode::ALREADY_EXISTS ||
         code == grpc::StatusCode::INVALID_ARGUMENT;
}

}  // namespace

class SessionClient::Impl {
 public:
  explicit Impl(SessionClientOptions options)
      : options_(std::move(options)),
        target_(absl::StrCat(options_.coordinator.host, ":", options_.coordinator.port)),
        random_(std::hash<std::string>()(RandomId())),
        thread_([this] { Run(); }) {}

  ~Impl() {
    {
      std::lock_guard<std::mutex> lock(mu_);
      stopping_ = true;
    }
    cv_.notify_all();
    {
      std::unique_lock<std::mutex> lock(mu_);
      if (!options_.clock->WaitUntil(lock, cv_, options_.clock->Now() + kGoodbye, [this] { return ended_; })) {
        if (context_ != nullptr) context_->TryCancel();
      }
    }
    thread_.join();
  }

  void Send(v1::AgentMessage message) {
    {
      std::lock_guard<std::mutex> lock(mu_);
      if (message.has_register_()) registered_ = true;
      // What is not of this session is said again in the next one.
      if (context_ == nullptr || !registered_) return;
      outgoing_.push_back(std::move(message));
    }
    cv_.notify_all();
  }

  void Reset(const std::string& why) {
    std::lock_guard<std::mutex> lock(mu_);
    if (context_ == nullptr) return;
    reset_reason_ = why;
    context_->TryCancel();
  }

 private:
  void Run() {
    absl::Duration pause = options_.first_pause;
    while (!Stopping()) {
      const absl::Status probe = ProbeTcp(options_.coordinator, options_.connect_timeout);
      const bool refused = absl::IsFailedPrecondition(probe);
      if (refused) options_.on_event(CoordinatorRefused{});
      if (!probe.ok()) {
        SayOnce(absl::StrCat("cannot reach the coordinator at ", target_, ": ", probe.message(),
                             "; trying again until it answers"));
      } else if (Session()) {
        pause = options_.first_pause;
      }
      Pause(pause);
      // Several looks within a lease: that connections are refused must be known before it is over.
      pause = std::min({pause * 2, options_.longest_pause, lease_ / 4});
      // A refusal costs next to nothing, and the coordinator is probably about to be back.
      if (refused) pause = std::min(pause, options_.longest_refused_pause);
    }
    std::lock_guard<std::mutex> lock(mu_);
    ended_ = true;
    cv_.notify_all();
  }

  // One stream, from its start to its end. True if the coordinator took this agent in.
  bool Session() {
    grpc::ClientContext context;
    {
      std::lock_guard<std::mutex> lock(mu_);
      context_ = &context;
      registered_ = false;
      broken_ = false;
      outgoing_.clear();
      reset_reason_.clear();
    }
    const auto stub = v1::AgentService::NewStub(NewChannel(options_.coordinator, options_.connect_timeout));
    const auto stream = stub->Session(&context);
    options_.on_event(SessionOpened{});
    bool welcomed = false;
    std::thread reader([&] {
      v1::CoordinatorMessage message;
      while (stream->Read(&message)) {
        if (message.has_welcome()) {
          welcomed = true;
          if (message.welcome().has_lease()) lease_ = FromProto(message.welcome().lease());
          LogInfo("connected to the coordinator at %s", target_);
          said_ = false;
        }
        options_.on_event(CoordinatorSaid{std::move(message)});
        message.Clear();
      }
      std::lock_guard<std::mutex> lock(mu_);
      broken_ = true;
      cv_.notify_all();
    });
    Write(stream.get());
    reader.join();
    const grpc::Status status = stream->Finish();
    std::string why;
    {
      std::lock_guard<std::mutex> lock(mu_);
      context_ = nullptr;
      why = reset_reason_.empty() ? status.error_message() : reset_reason_;
    }
    if (IsFinal(status.error_code())) {
      {
        std::lock_guard<std::mutex> lock(mu_);
        stopping_ = true;
      }
      options_.on_refused(absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                                       absl::StrCat("the coordinator at ", target_, " refuses this node: ", why)));
      return false;
    }
    if (!Stopping()) {
      SayOnce(absl::StrCat("lost the coordinator at ", target_, ": ", why.empty() ? "it closed the session" : why,
                           "; trying again until it answers"));
      options_.on_event(SessionLost{why});
    }
    return welcomed;
  }

  void Write(grpc::ClientReaderWriter<v1::AgentMessage, v1::CoordinatorMessage>* stream) {
    std::unique_lock<std::mutex> lock(mu_);
    while (true) {
      cv_.wait(lock, [this] { return broken_ || stopping_ || !outgoing_.empty(); });
      if (broken_) return;
      if (outgoing_.empty()) break;  // stopping, and all is said
      const v1::AgentMessage message = std::move(outgoing_.front());
      outgoing_.pop_front();
      lock.unlock();
      const bool written = stream->Write(message);
      lock.lock();
      if (!written) return;
    }
    lock.unlock();
    stream->WritesDone();
    // The coordinator may keep its half open: leaving does not wait for it longer than for the last message.
    lock.lock();
    options_.clock->WaitUntil(lock, cv_, options_.clock->Now() + kGoodbye / 2, [this] { return broken_; });
    if (!broken_) context_->TryCancel();
  }

  bool Stopping() {
    std::lock_guard<std::mutex> lock(mu_);
    return stopping_;
  }

  void Pause(absl::Duration pause) {
    const double jitter = std::uniform_real_distribution<double>(0.5, 1.0)(random_);
    std::unique_lock<std::mutex> lock(mu_);
    options_.clock->WaitUntil(lock, cv_, options_.clock->Now() + pause * jitter, [this] { return stopping_; });
  }

  // Once for each time that the coordinator goes away.
  void SayOnce(const std::string& text) {
    if (!said_) LogWarning("%s", text);
    said_ = true;
  }

  const SessionClientOptions options_;
  const std::string target_;
  std::mt19937_64 random_;
  // Of the threads of Run, never at once.
  bool said_ = false;
  absl::Duration lease_ = absl::InfiniteDuration();

  std::mutex mu_;
  std::condition_variable cv_;
  // All guarded by mu_. The present session's, null between sessions.
  grpc::ClientContext* context_ = nullptr;
  bool registered_ = false;
  bool broken_ = false;
  std::deque<v1::AgentMessage> outgoing_;
  std::string reset_reason_;
  bool stopping_ = false;
  bool ended_ = false;

  std::thread thread_;
};

SessionClient::SessionClient(SessionClientOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
SessionClient::~SessionClient() = default;
void SessionClient::Send(v1::AgentMessage message) { impl_->Send(std::move(message)); }
void SessionClient::Reset(const std::string& why) { impl_->Reset(why); }

}  // namespace muster::agent
