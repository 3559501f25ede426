#include "coordinator/rpc/metrics_stream.h"

#include <algorithm>
#include <utility>

#include "coordinator/core/views.h"

namespace muster::coordinator {
namespace {

constexpr size_t kStepsAMessage = 4096;

}  // namespace

MetricsStream::MetricsStream(Driver* driver, OpenStreams* open, std::string job)
    : ReplyStream(open), driver_(driver), job_(std::move(job)) {}

void MetricsStream::Start() {
  Open();
  driver_->Read(
      [self = std::static_pointer_cast<MetricsStream>(shared_from_this())](absl::StatusOr<Driver::Snapshot> snapshot) {
        if (!snapshot.ok()) {
          self->End(snapshot.status());
          return;
        }
        const absl::StatusOr<JobId> job = FindJob(snapshot->core->state(), self->job_);
        if (!job.ok()) {
          self->End(job.status());
          return;
        }
        self->id_ = *job;
        self->steps_ = StepsOfJob(snapshot->core->state(), *job, 0);
        self->WriteNext();
      });
}

void MetricsStream::OnWritten() { WriteNext(); }

void MetricsStream::WriteNext() {
  if (next_ == steps_.size()) {
    End(absl::OkStatus());
    return;
  }
  v1::StoredMetrics message;
  message.set_job_id(id_.value());
  for (const size_t end = std::min(steps_.size(), next_ + kStepsAMessage); next_ < end; ++next_) {
    *message.add_steps() = std::move(steps_[next_]);
  }
  Write(std::move(message));
}

}  // namespace muster::coordinator
