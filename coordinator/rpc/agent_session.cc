#include "coordinator/rpc/agent_session.h"

#include <utility>

#include "coordinator/rpc/grpc_status.h"

namespace muster::coordinator {
namespace {

constexpr int kMaxWaiting = 64;
constexpr size_t kMaxOutgoing = 4096;
constexpr size_t kMaxOutgoingBytes = 64 << 20;

}  // namespace

SessionId AgentSessions::NewId() {
  std::lock_guard<std::mutex> lock(mu_);
  return SessionId(next_++);
}

void AgentSessions::Add(SessionId id, const std::shared_ptr<AgentSession>& session) {
  std::lock_guard<std::mutex> lock(mu_);
  sessions_[id] = session;
}

void AgentSessions::Remove(SessionId id) {
  std::lock_guard<std::mutex> lock(mu_);
  sessions_.erase(id);
}

std::shared_ptr<AgentSession> AgentSessions::Find(SessionId id) const {
  std::lock_guard<std::mutex> lock(mu_);
  auto it = sessions_.find(id);
  return it == sessions_.end() ? nullptr : it->second.lock();
}

AgentSession::AgentSession(SessionId id, grpc::CallbackServerContext* context, Driver* driver, AgentSessions* sessions,
                           OpenStreams* open)
    : id_(id), context_(context), driver_(driver), sessions_(sessions), open_(open) {}

void AgentSession::Open() {
  {
    std::lock_guard<std::mutex> lock(mu_);
    self_ = shared_from_this();
  }
  sessions_->Add(id_, shared_from_this());
  open_->Add(shared_from_this());
  StartRead(&incoming_);
}

void AgentSession::OnReadDone(bool ok) {
  if (!ok) {
    Disconnected("connection closed");
    End(absl::OkStatus());
    return;
  }
  v1::AgentMessage message = std::exchange(incoming_, v1::AgentMessage());
  std::optional<Event> event;
  {
    std::lock_guard<std::mutex> lock(mu_);
    if (end_.has_value()) return;
    if (registered_) {
      event = AgentSaid{id_, std::move(message)};
    } else if (message.has_register_()) {
      registered_ = true;
      event = AgentConnected{id_, std::move(*message.mutable_register_())};
    } else {
      EndLocked(absl::InvalidArgumentError("the first message of a session must be Register"));
      return;
    }
    ++waiting_;
  }
  driver_->Post(*std::move(event), [self = shared_from_this()] { self->OnTaken(); });
  std::lock_guard<std::mutex> lock(mu_);
  if (end_.has_value()) return;
  if (waiting_ >= kMaxWaiting) {
    read_paused_ = true;
  } else {
    StartRead(&incoming_);
  }
}

void AgentSession::OnTaken() {
  std::lock_guard<std::mutex> lock(mu_);
  --waiting_;
  if (!read_paused_ || end_.has_value()) return;
  read_paused_ = false;
  StartRead(&incoming_);
}

void AgentSession::Send(v1::CoordinatorMessage message) {
  bool overflow = false;
  {
    std::lock_guard<std::mutex> lock(mu_);
    if (end_.has_value()) return;
    outgoing_bytes_ += message.ByteSizeLong();
    outgoing_.push_back(std::move(message));
    overflow = outgoing_.size() > kMaxOutgoing || outgoing_bytes_ > kMaxOutgoingBytes;
    if (overflow) {
      EndLocked(absl::UnavailableError("the agent does not read what it is sent"));
      // The write under way may never end by itself; until it does the call is not over.
      if (writing_) context_->TryCancel();
    } else {
      WriteNextLocked();
    }
  }
  if (overflow) Disconnected("it does not read what it is sent");
}

void AgentSession::OnWriteDone(bool ok) {
  std::lock_guard<std::mutex> lock(mu_);
  writing_ = false;
  if (end_.has_value()) {
    Finish(ToGrpc(*end_));
    return;
  }
  outgoing_bytes_ -= outgoing_.front().ByteSizeLong();
  outgoing_.pop_front();
  // A broken stream shows at the read too, which says so to the core.
  if (ok) WriteNextLocked();
}

void AgentSession::End(const absl::Status& status) {
  std::lock_guard<std::mutex> lock(mu_);
  EndLocked(status);
}

void AgentSession::EndLocked(const absl::Status& status) {
  if (end_.has_value()) return;
  end_ = status;
  if (!writing_) Finish(ToGrpc(status));
}

void AgentSession::WriteNextLocked() {
  if (writing_ || outgoing_.empty()) return;
  writing_ = true;
  StartWrite(&outgoing_.front());
}

void AgentSession::OnCancel() {
  Disconnected("connection closed");
  End(absl::CancelledError("the agent is gone"));
}

void AgentSession::Disconnected(const std::string& why) {
  {
    std::lock_guard<std::mutex> lock(mu_);
    if (disconnected_ || !registered_) return;
    disconnected_ = true;
  }
  driver_->Post(AgentDisconnected{id_, why});
}

void AgentSession::OnDone() {
  std::shared_ptr<AgentSession> self;
  {
    // Whoever ended the call may still be inside of the lock.
    std::lock_guard<std::mutex> lock(mu_);
    self.swap(self_);
  }
  sessions_->Remove(id_);
  open_->Remove(this);
}

}  // namespace muster::coordinator
