#include "coordinator/rpc/watch_stream.h"

#include <utility>

#include "coordinator/core/views.h"

namespace muster::coordinator {

WatchStream::WatchStream(const Needs& needs, std::string job)
    : ReplyStream(needs.open), needs_(needs), job_(std::move(job)) {}

void WatchStream::Start() {
  Open();
  needs_.driver->Read([self = Self()](absl::StatusOr<Driver::Snapshot> snapshot) {
    if (!snapshot.ok()) {
      self->End(snapshot.status());
    } else {
      self->Begin(*snapshot);
    }
  });
}

void WatchStream::Begin(const Driver::Snapshot& snapshot) {
  absl::StatusOr<JobId> job = FindJob(snapshot.core->state(), job_);
  if (!job.ok()) {
    End(job.status());
    return;
  }
  {
    std::lock_guard<std::mutex> lock(mu_);
    cursor_ = std::make_unique<WatchCursor>(*job);
    // Weak: a watcher whose client is gone must not be held by its own subscription.
    subscription_ = needs_.changed->Subscribe(*job, [weak = std::weak_ptr<WatchStream>(Self())] {
      if (auto self = weak.lock()) self->OnChange();
    });
  }
  Take();
}

void WatchStream::OnChange() {
  std::lock_guard<std::mutex> lock(mu_);
  changed_ = true;
  PlanLocked();
}

void WatchStream::PlanLocked() {
  if (busy_ || !changed_) return;
  busy_ = true;
  needs_.timers->PostAt(not_before_, [self = Self()] { self->Take(); });
}

void WatchStream::Take() {
  if (ended()) return;
  needs_.driver->Read([self = Self()](absl::StatusOr<Driver::Snapshot> snapshot) {
    if (!snapshot.ok()) {
      self->End(snapshot.status());
      return;
    }
    v1::JobSnapshot message;
    {
      std::lock_guard<std::mutex> lock(self->mu_);
      self->changed_ = false;
      message = self->cursor_->Next(snapshot->core->state());
      self->finished_ = IsFinished(message.job().state());
      self->not_before_ = self->needs_.clock->Now() + kInterval;
    }
    self->Write(std::move(message));
  });
}

void WatchStream::OnWritten() {
  {
    std::lock_guard<std::mutex> lock(mu_);
    if (!finished_) {
      busy_ = false;
      PlanLocked();
      return;
    }
  }
  End(absl::OkStatus());
}

void WatchStream::OnOver() {
  JobSignal::Subscription subscription;
  std::lock_guard<std::mutex> lock(mu_);
  subscription = std::move(subscription_);
}

std::shared_ptr<WatchStream> WatchStream::Self() { return std::static_pointer_cast<WatchStream>(shared_from_this()); }

}  // namespace muster::coordinator
