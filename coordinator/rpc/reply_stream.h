#ifndef MUSTER_COORDINATOR_RPC_REPLY_STREAM_H_
#define MUSTER_COORDINATOR_RPC_REPLY_STREAM_H_

#include <grpcpp/support/server_callback.h>

#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "coordinator/rpc/grpc_status.h"
#include "coordinator/rpc/open_streams.h"

namespace muster::coordinator {

// The server's side of a call that answers with a stream: one message under way at a time, an end that may come from
// any thread, and a lifetime that gRPC and whoever holds a pointer share.
template <typename Response>
class ReplyStream : public grpc::ServerWriteReactor<Response>,
                    public OpenStream,
                    public std::enable_shared_from_this<ReplyStream<Response>> {
 public:
  explicit ReplyStream(OpenStreams* open) : open_(open) {}

  // To be called once, by who makes it: gRPC keeps the object from now on until the call is over.
  void Open() {
    {
      std::lock_guard<std::mutex> lock(mu_);
      self_ = this->shared_from_this();
    }
    open_->Add(this->shared_from_this());
  }

  // False: the call is over, or ends. No write may be under way.
  bool Write(Response response) {
    std::lock_guard<std::mutex> lock(mu_);
    if (end_.has_value()) return false;
    message_ = std::move(response);
    writing_ = true;
    this->StartWrite(&message_);
    return true;
  }

  void End(const absl::Status& status) override {
    std::lock_guard<std::mutex> lock(mu_);
    if (end_.has_value()) return;
    end_ = status;
    if (!writing_) this->Finish(ToGrpc(status));
  }

  bool ended() const {
    std::lock_guard<std::mutex> lock(mu_);
    return end_.has_value();
  }

 protected:
  // The message is out; the next may be written.
  virtual void OnWritten() = 0;
  // The call is over: nothing of it may be used from now on but by those who hold a pointer.
  virtual void OnOver() {}

 private:
  void OnWriteDone(bool ok) final {
    {
      std::lock_guard<std::mutex> lock(mu_);
      writing_ = false;
      if (!ok && !end_.has_value()) end_ = absl::CancelledError("the client is gone");
      if (end_.has_value()) {
        this->Finish(ToGrpc(*end_));
        return;
      }
    }
    OnWritten();
  }

  void OnCancel() final { End(absl::CancelledError("the client is gone")); }

  void OnDone() final {
    std::shared_ptr<ReplyStream> self;
    {
      // Whoever ended the call may still be inside of the lock.
      std::lock_guard<std::mutex> lock(mu_);
      self.swap(self_);
    }
    open_->Remove(this);
    OnOver();
  }

  OpenStreams* const open_;

  mutable std::mutex mu_;
  // Guarded by mu_.
  Response message_;
  bool writing_ = false;
  std::optional<absl::Status> end_;
  std::shared_ptr<ReplyStream> self_;
};

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_RPC_REPLY_STREAM_H_
