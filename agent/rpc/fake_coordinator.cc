#include "agent/rpc/fake_coordinator.h"

#include <chrono>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/proto_time.h"

namespace muster::agent {
namespace {

constexpr absl::Duration kLimit = absl::Minutes(1);

}  // namespace

void FakeCoordinator::Start() {
  grpc::ServerBuilder builder;
  builder.AddListeningPort(absl::StrCat("127.0.0.1:", port_), grpc::InsecureServerCredentials(), &port_);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
}

void FakeCoordinator::Stop() {
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
  server_.reset();
}

void FakeCoordinator::Refuse(grpc::Status status) {
  std::lock_guard<std::mutex> lock(mu_);
  refusal_ = std::move(status);
}

void FakeCoordinator::Mute(bool mute) {
  std::lock_guard<std::mutex> lock(mu_);
  mute_ = mute;
}

void FakeCoordinator::ForgetLogsBeyond(size_t bytes) {
  std::lock_guard<std::mutex> lock(mu_);
  for (auto& [worker, log] : logs_) {
    if (log.data.size() > bytes) log.data.resize(bytes);
  }
}

bool FakeCoordinator::Send(const v1::CoordinatorMessage& message) {
  std::lock_guard<std::mutex> lock(mu_);
  return stream_ != nullptr && stream_->Write(message);
}

bool FakeCoordinator::Desire(const std::vector<v1::GangAssignment>& gangs) {
  v1::CoordinatorMessage message;
  {
    std::lock_guard<std::mutex> lock(mu_);
    message.mutable_desired()->set_revision(++revision_);
  }
  for (const v1::GangAssignment& gang : gangs) *message.mutable_desired()->add_gangs() = gang;
  return Send(message);
}

bool FakeCoordinator::Wait(std::unique_lock<std::mutex>& lock, const std::function<bool()>& ready) {
  return Clock::Real()->WaitUntil(lock, cv_, Clock::Real()->Now() + kLimit, ready);
}

std::optional<v1::Register> FakeCoordinator::WaitRegistration(size_t n) {
  std::unique_lock<std::mutex> lock(mu_);
  if (!Wait(lock, [&] { return registrations_.size() >= n && stream_ != nullptr; })) return std::nullopt;
  return registrations_[n - 1];
}

std::optional<v1::AgentMessage> FakeCoordinator::WaitMessage(const std::function<bool(const v1::AgentMessage&)>& fits) {
  std::unique_lock<std::mutex> lock(mu_);
  std::optional<v1::AgentMessage> found;
  Wait(lock, [&] {
    while (!messages_.empty() && !found) {
      if (fits(messages_.front())) found = messages_.front();
      messages_.pop_front();
    }
    return found.has_value();
  });
  return found;
}

std::optional<v1::WorkerStatus> FakeCoordinator::WaitWorker(v1::WorkerState state) {
  const std::optional<v1::AgentMessage> message =
      WaitMessage([&](const v1::AgentMessage& m) { return m.has_worker() && m.worker().state() == state; });
  if (!message) return std::nullopt;
  return message->worker();
}

std::optional<std::string> FakeCoordinator::WaitLog(const std::string& worker) {
  std::unique_lock<std::mutex> lock(mu_);
  if (!Wait(lock, [&] { return logs_[worker].eof; })) return std::nullopt;
  return logs_[worker].data;
}

bool FakeCoordinator::WaitLogHas(const std::string& worker, const std::string& text) {
  std::unique_lock<std::mutex> lock(mu_);
  return Wait(lock, [&] { return absl::StrContains(logs_[worker].data, text); });
}

grpc::Status FakeCoordinator::Session(grpc::ServerContext*, SessionStream* stream) {
  v1::AgentMessage message;
  if (!stream->Read(&message) || !message.has_register_()) {
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "no registration");
  }
  {
    std::lock_guard<std::mutex> lock(mu_);
    if (!refusal_.ok()) return refusal_;
    v1::CoordinatorMessage welcome;
    *welcome.mutable_welcome()->mutable_lease() = ToProto(lease_);
    *welcome.mutable_welcome()->mutable_heartbeat_interval() = ToProto(lease_ / 10);
    stream->Write(welcome);
    stream_ = stream;
    registrations_.push_back(message.register_());
    cv_.notify_all();
  }
  while (stream->Read(&message)) {
    std::lock_guard<std::mutex> lock(mu_);
    if (message.has_heartbeat()) {
      v1::CoordinatorMessage ack;
      ack.mutable_heartbeat_ack()->set_seq(message.heartbeat().seq());
      if (!mute_) stream->Write(ack);
      continue;
    }
    messages_.push_back(message);
    cv_.notify_all();
  }
  std::lock_guard<std::mutex> lock(mu_);
  if (stream_ == stream) stream_ = nullptr;
  return grpc::Status::OK;
}

grpc::Status FakeCoordinator::ShipLogs(grpc::ServerContext*, LogStream* stream) {
  v1::LogChunk chunk;
  while (stream->Read(&chunk)) {
    v1::LogAck ack;
    {
      std::lock_guard<std::mutex> lock(mu_);
      LogFile& log = logs_[absl::StrCat(chunk.job_id(), ".", chunk.generation(), ".", chunk.rank())];
      const int64_t size = static_cast<int64_t>(log.data.size());
      if (chunk.offset() <= size) {
        const std::string& data = chunk.data();
        const int64_t known = size - chunk.offset();
        if (static_cast<int64_t>(data.size()) > known) log.data += data.substr(known);
        log.eof |= chunk.eof();
      }
      ack.set_offset(static_cast<int64_t>(log.data.size()));
      cv_.notify_all();
    }
    ack.set_job_id(chunk.job_id());
    ack.set_generation(chunk.generation());
    ack.set_rank(chunk.rank());
    stream->Write(ack);
  }
  return grpc::Status::OK;
}

}  // namespace muster::agent
