#ifndef MUSTER_COORDINATOR_RPC_OPEN_STREAMS_H_
#define MUSTER_COORDINATOR_RPC_OPEN_STREAMS_H_

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/status/status.h"

namespace muster::coordinator {

// A call that lasts.
class OpenStream {
 public:
  virtual ~OpenStream() = default;
  // Thread-safe; the first call counts. What was begun to be written is written, nothing else.
  virtual void End(const absl::Status& status) = 0;
};

// All calls that last, so that a coordinator that stops can end them. Thread-safe.
class OpenStreams {
 public:
  // Not while a call may still remove itself; one that just has is waited for.
  ~OpenStreams() { std::lock_guard<std::mutex> lock(mu_); }

  void Add(const std::shared_ptr<OpenStream>& stream) {
    std::lock_guard<std::mutex> lock(mu_);
    streams_[stream.get()] = stream;
  }
  void Remove(const OpenStream* stream) {
    std::lock_guard<std::mutex> lock(mu_);
    streams_.erase(stream);
  }
  void EndAll(const absl::Status& status) {
    std::vector<std::shared_ptr<OpenStream>> streams;
    {
      std::lock_guard<std::mutex> lock(mu_);
      for (const auto& [key, stream] : streams_) {
        if (auto alive = stream.lock()) streams.push_back(std::move(alive));
      }
    }
    for (const auto& stream : streams) stream->End(status);
  }
  size_t size() const {
    std::lock_guard<std::mutex> lock(mu_);
    return streams_.size();
  }

 private:
  mutable std::mutex mu_;
  std::map<const OpenStream*, std::weak_ptr<OpenStream>> streams_;  // guarded by mu_
};

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_RPC_OPEN_STREAMS_H_
