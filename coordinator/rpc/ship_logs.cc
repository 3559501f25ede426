#include "coordinator/rpc/ship_logs.h"

#include <utility>

#include "coordinator/core/views.h"
#include "coordinator/rpc/grpc_status.h"
#include "coordinator/runtime/log_file_name.h"

namespace muster::coordinator {

ShipLogsStream::ShipLogsStream(Driver* driver, LogStore* store, Executor* disk, OpenStreams* open)
    : driver_(driver), store_(store), disk_(disk), open_(open) {}

void ShipLogsStream::Open() {
  {
    std::lock_guard<std::mutex> lock(mu_);
    self_ = shared_from_this();
  }
  open_->Add(shared_from_this());
  StartRead(&chunk_);
}

void ShipLogsStream::OnReadDone(bool ok) {
  if (!ok) {
    End(absl::OkStatus());
    return;
  }
  if (known_jobs_.count(chunk_.job_id()) > 0) {
    disk_->Post([self = shared_from_this()] { self->Keep(); });
    return;
  }
  driver_->Read([self = shared_from_this()](absl::StatusOr<Driver::Snapshot> snapshot) {
    if (!snapshot.ok()) {
      self->End(snapshot.status());
      return;
    }
    const std::string& id = self->chunk_.job_id();
    const absl::StatusOr<JobId> job = FindJob(snapshot->core->state(), id);
    if (job.ok() && job->value() == id) {
      self->known_jobs_.insert(id);
      self->disk_->Post([self] { self->Keep(); });
    } else {
      self->Drop();
    }
  });
}

void ShipLogsStream::Keep() {
  const absl::StatusOr<int64_t> kept = store_->Append(chunk_);
  if (kept.ok()) {
    Acknowledge(*kept);
  } else {
    End(kept.status());
  }
}

void ShipLogsStream::Drop() {
  if (const auto file = FileOfChunk(chunk_); !file.ok()) {
    End(file.status());
    return;
  }
  Acknowledge(chunk_.offset() + static_cast<int64_t>(chunk_.data().size()));
}

void ShipLogsStream::Acknowledge(int64_t offset) {
  ack_.set_job_id(chunk_.job_id());
  ack_.set_generation(chunk_.generation());
  ack_.set_rank(chunk_.rank());
  ack_.set_offset(offset);
  std::lock_guard<std::mutex> lock(mu_);
  if (end_.has_value()) return;
  writing_ = true;
  StartWrite(&ack_);
}

void ShipLogsStream::OnWriteDone(bool ok) {
  std::lock_guard<std::mutex> lock(mu_);
  writing_ = false;
  if (!ok && !end_.has_value()) end_ = absl::CancelledError("the agent is gone");
  if (end_.has_value()) {
    Finish(ToGrpc(*end_));
  } else {
    StartRead(&chunk_);
  }
}

void ShipLogsStream::End(const absl::Status& status) {
  std::lock_guard<std::mutex> lock(mu_);
  if (end_.has_value()) return;
  end_ = status;
  if (!writing_) Finish(ToGrpc(status));
}

void ShipLogsStream::OnCancel() { End(absl::CancelledError("the agent is gone")); }

void ShipLogsStream::OnDone() {
  std::shared_ptr<ShipLogsStream> self;
  {
    // Whoever ended the call may still be inside of the lock.
    std::lock_guard<std::mutex> lock(mu_);
    self.swap(self_);
  }
  open_->Remove(this);
}

}  // namespace muster::coordinator
