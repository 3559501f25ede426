#include "agent/rpc/log_shipper.h"

#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/rpc/channel.h"
#include "common/log.h"
#include "proto/agent.grpc.pb.h"

namespace muster::agent {
namespace {

constexpr int64_t kChunk = 256 * 1024;
// Sent and not acknowledged, of one file.
constexpr int64_t kWindow = 4 * kChunk;

struct File {
  std::string path;
  int watch = -1;
  // The coordinator has said where to go on, in this stream; until then only the question was sent.
  bool asked = false;
  bool placed = false;
  int64_t sent = 0;
  int64_t acked = 0;
  bool finished = false;
  bool end_sent = false;
};

// Up to kChunk bytes from `offset`, of whole lines where there is a line's end in them.
std::string ReadChunk(const std::string& path, int64_t offset) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  std::string data(kChunk, '\0');
  const ssize_t n = ::pread(fd, data.data(), data.size(), offset);
  ::close(fd);
  data.resize(std::max<ssize_t>(0, n));
  if (data.size() == kChunk) {
    const size_t newline = data.rfind('\n');
    if (newline != std::string::npos) data.resize(newline + 1);
  }
  return data;
}

int64_t SizeOf(const std::string& path) {
  struct stat st;
  return ::stat(path.c_str(), &st) == 0 ? st.st_size : 0;
}

}  // namespace

class LogShipper::Impl {
 public:
  explicit Impl(LogShipperOptions options)
      : options_(std::move(options)),
        wake_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        inotify_fd_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)),
        thread_([this] { Run(); }) {}

  ~Impl() {
    {
      std::lock_guard<std::mutex> lock(mu_);
      stop_ = true;
      if (context_ != nullptr) context_->TryCancel();
      cv_.notify_all();
    }
    Wake();
    thread_.join();
    ::close(wake_fd_);
    ::close(inotify_fd_);
  }

  void Add(const WorkerKey& worker, const std::string& path) {
    // There before the watch, so that there is something to watch.
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd >= 0) ::close(fd);
    {
      std::lock_guard<std::mutex> lock(mu_);
      File& file = files_[worker];
      file.path = path;
      file.watch = ::inotify_add_watch(inotify_fd_, path.c_str(), IN_MODIFY);
    }
    Wake();
  }

  void Finish(const WorkerKey& worker) {
    {
      std::lock_guard<std::mutex> lock(mu_);
      const auto it = files_.find(worker);
      if (it == files_.end()) return;
      it->second.finished = true;
    }
    Wake();
  }

  void Remove(const WorkerKey& worker) {
    std::lock_guard<std::mutex> lock(mu_);
    const auto it = files_.find(worker);
    if (it != files_.end()) Drop(it);
  }

  bool Flush(absl::Duration limit) {
    std::unique_lock<std::mutex> lock(mu_);
    return options_.clock->WaitUntil(lock, cv_, options_.clock->Now() + limit, [this] {
      return std::none_of(files_.begin(), files_.end(), [](const auto& entry) { return entry.second.finished; });
    });
  }

 private:
  using Stream = grpc::ClientReaderWriter<v1::LogChunk, v1::LogAck>;

  void Wake() {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = ::write(wake_fd_, &one, sizeof(one));
  }

  // Until a file has grown, or something else has changed.
  void WaitForNews() {
    pollfd fds[] = {{wake_fd_, POLLIN, 0}, {inotify_fd_, POLLIN, 0}};
    ::poll(fds, 2, -1);
    char buffer[4096];
    while (::read(wake_fd_, buffer, sizeof(uint64_t)) > 0) {
    }
    while (::read(inotify_fd_, buffer, sizeof(buffer)) > 0) {
    }
  }

  void Run() {
    absl::Duration pause = options_.first_pause;
    while (true) {
      while (!Stopping() && !HasWork()) WaitForNews();
      if (Stopping()) return;
      // The session says so if the coordinator is away; here it would be said twice.
      if (ProbeTcp(options_.coordinator, options_.connect_timeout).ok() && ShipOverOneStream()) {
        pause = options_.first_pause;
      }
      std::unique_lock<std::mutex> lock(mu_);
      options_.clock->WaitUntil(lock, cv_, options_.clock->Now() + pause, [this] { return stop_; });
      pause = std::min(pause * 2, options_.longest_pause);
    }
  }

  bool Stopping() {
    std::lock_guard<std::mutex> lock(mu_);
    return stop_;
  }

  bool HasWork() {
    std::lock_guard<std::mutex> lock(mu_);
    return !files_.empty();
  }

  // True if the coordinator took anything.
  bool ShipOverOneStream() {
    grpc::ClientContext context;
    {
      std::lock_guard<std::mutex> lock(mu_);
      if (stop_) return false;
      context_ = &context;
      broken_ = false;
      for (auto& [worker, file] : files_) file.asked = file.placed = file.end_sent = false;
    }
    const auto stub = v1::AgentService::NewStub(NewChannel(options_.coordinator, options_.connect_timeout));
    const std::unique_ptr<Stream> stream = stub->ShipLogs(&context);
    bool taken = false;
    std::thread reader([&] {
      v1::LogAck ack;
      while (stream->Read(&ack)) {
        taken = true;
        OnAck(ack);
        Wake();
      }
      {
        std::lock_guard<std::mutex> lock(mu_);
        broken_ = true;
      }
      Wake();
    });
    while (true) {
      const std::optional<v1::LogChunk> chunk = NextChunk();
      {
        std::lock_guard<std::mutex> lock(mu_);
        if (broken_ || stop_) break;
      }
      if (!chunk) {
        WaitForNews();
      } else if (!stream->Write(*chunk)) {
        break;
      }
    }
    context.TryCancel();
    reader.join();
    const grpc::Status status = stream->Finish();
    if (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED ||
        status.error_code() == grpc::StatusCode::INVALID_ARGUMENT) {
      if (last_refusal_ != status.error_message()) {
        LogWarning("the coordinator takes no logs: %s", status.error_message());
      }
      last_refusal_ = status.error_message();
      taken = false;  // pause for longer each time
    }
    std::lock_guard<std::mutex> lock(mu_);
    context_ = nullptr;
    return taken;
  }

  // What to send next; files take turns.
  std::optional<v1::LogChunk> NextChunk() {
    std::lock_guard<std::mutex> lock(mu_);
    for (size_t i = 0; i < files_.size(); ++i) {
      auto it = files_.upper_bound(turn_);
      if (it == files_.end()) it = files_.begin();
      turn_ = it->first;
      File& file = it->second;
      v1::LogChunk chunk;
      if (!file.asked) {
        file.asked = true;
        chunk.set_offset(file.acked);
      } else if (!file.placed || file.sent - file.acked >= kWindow) {
        continue;
      } else if (std::string data = ReadChunk(file.path, file.sent); !data.empty()) {
        chunk.set_offset(file.sent);
        file.sent += static_cast<int64_t>(data.size());
        *chunk.mutable_data() = std::move(data);
      } else if (file.finished && !file.end_sent && file.acked == file.sent) {
        file.end_sent = true;
        chunk.set_offset(file.sent);
        chunk.set_eof(true);
      } else {
        continue;
      }
      chunk.set_job_id(turn_.gang.job.value());
      chunk.set_generation(turn_.gang.generation.value());
      chunk.set_rank(turn_.rank);
      chunk.set_node_id(options_.node_id);
      return chunk;
    }
    return std::nullopt;
  }

  void OnAck(const v1::LogAck& ack) {
    const WorkerKey worker{{JobId(ack.job_id()), Generation(ack.generation())}, ack.rank()};
    {
      std::lock_guard<std::mutex> lock(mu_);
      const auto it = files_.find(worker);
      if (it == files_.end()) return;
      File& file = it->second;
      // An answer to the question, or the coordinator has lost what it had.
      if (!file.placed || ack.offset() < file.acked) file.sent = ack.offset();
      file.placed = true;
      file.acked = ack.offset();
      file.sent = std::max(file.sent, file.acked);
      const bool all = file.end_sent && file.acked >= SizeOf(file.path);
      if (!all) return;
      Drop(it);
    }
    options_.on_shipped(worker);
  }

  void Drop(std::map<WorkerKey, File>::iterator it) {
    if (it->second.watch >= 0) ::inotify_rm_watch(inotify_fd_, it->second.watch);
    files_.erase(it);
    cv_.notify_all();
  }

  const LogShipperOptions options_;
  const int wake_fd_;
  const int inotify_fd_;
  std::string last_refusal_;  // of thread_

  std::mutex mu_;
  std::condition_variable cv_;
  // All guarded by mu_.
  bool stop_ = false;
  bool broken_ = false;
  grpc::ClientContext* context_ = nullptr;
  std::map<WorkerKey, File> files_;
  WorkerKey turn_;

  std::thread thread_;
};

LogShipper::LogShipper(LogShipperOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
LogShipper::~LogShipper() = default;
void LogShipper::Add(const WorkerKey& worker, const std::string& path) { impl_->Add(worker, path); }
void LogShipper::Finish(const WorkerKey& worker) { impl_->Finish(worker); }
void LogShipper::Remove(const WorkerKey& worker) { impl_->Remove(worker); }
bool LogShipper::Flush(absl::Duration limit) { return impl_->Flush(limit); }

}  // namespace muster::agent
