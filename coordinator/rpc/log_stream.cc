#include "coordinator/rpc/log_stream.h"

#include <algorithm>
#include <utility>

#include "common/proto_time.h"
#include "coordinator/core/views.h"

namespace muster::coordinator {
namespace {

constexpr int64_t kMessageBytes = 256 << 10;

}  // namespace

LogStream::LogStream(const Needs& needs, v1::StreamLogsRequest request)
    : ReplyStream(needs.open), needs_(needs), request_(std::move(request)) {}

void LogStream::Start() {
  Open();
  if (request_.tail() < 0) {
    End(absl::InvalidArgumentError("tail: must not be negative"));
    return;
  }
  needs_.driver->Read([self = Self()](absl::StatusOr<Driver::Snapshot> snapshot) {
    if (!snapshot.ok()) {
      self->End(snapshot.status());
    } else {
      self->Begin(*snapshot);
    }
  });
}

void LogStream::Begin(const Driver::Snapshot& snapshot) {
  const absl::StatusOr<JobId> job = FindJob(snapshot.core->state(), request_.job());
  if (!job.ok()) {
    End(job.status());
    return;
  }
  LogFilter filter;
  filter.job = *job;
  filter.ranks.insert(request_.ranks().begin(), request_.ranks().end());
  filter.generation = Generation(request_.generation());
  filter.tail = request_.tail();
  reader_ = std::make_unique<LogReader>(needs_.logs, std::move(filter));
  {
    std::lock_guard<std::mutex> lock(mu_);
    job_ = *job;
    if (request_.follow()) {
      subscriptions_.push_back(needs_.logs->appended().Subscribe(*job, Weakly([](LogStream& s) { s.Poke(); })));
      subscriptions_.push_back(needs_.changed->Subscribe(*job, Weakly([](LogStream& s) { s.OnJobChange(); })));
    }
  }
  if (request_.follow()) LookAtJob(snapshot);
  needs_.disk->Post([self = Self()] { self->ReadSome(); });
}

void LogStream::OnJobChange() {
  {
    std::lock_guard<std::mutex> lock(mu_);
    if (finish_.has_value()) return;
  }
  needs_.driver->Read([self = Self()](absl::StatusOr<Driver::Snapshot> snapshot) {
    if (!snapshot.ok()) {
      self->End(snapshot.status());
    } else {
      self->LookAtJob(*snapshot);
    }
  });
}

void LogStream::LookAtJob(const Driver::Snapshot& snapshot) {
  {
    std::lock_guard<std::mutex> lock(mu_);
    const State& state = snapshot.core->state();
    if (finish_.has_value() || !IsFinished(ViewOfJob(state, job_).state())) return;
    const v1::JobDetail detail = DetailOfJob(state, job_);
    JobEnd finish;
    finish.at = FromProto(detail.job().finished_at());
    if (!detail.generations().empty()) {
      const v1::StoredGeneration& last = *detail.generations().rbegin();
      finish.generation = Generation(last.generation());
      for (const v1::PlacedNode& node : last.nodes()) {
        for (const v1::LocalWorker& worker : node.workers()) finish.ranks.push_back(worker.rank());
      }
    }
    needs_.timers->PostAt(finish.at + kGrace, Weakly([](LogStream& s) { s.Poke(); }));
    finish_ = std::move(finish);
  }
  Poke();
}

void LogStream::Poke() {
  std::lock_guard<std::mutex> lock(mu_);
  changed_ = true;
  if (busy_) return;
  busy_ = true;
  needs_.disk->Post([self = Self()] { self->ReadSome(); });
}

void LogStream::ReadSome() {
  if (ended()) return;
  bool last = !request_.follow();
  {
    std::lock_guard<std::mutex> lock(mu_);
    changed_ = false;
    // Settled before the read, so that the read sees all that came before.
    last = last || NothingMoreComes();
  }
  absl::StatusOr<v1::LogLines> lines = last ? reader_->Last(kMessageBytes) : reader_->Next(kMessageBytes);
  if (!lines.ok()) {
    End(lines.status());
  } else if (!lines->lines().empty()) {
    Write(*std::move(lines));
  } else if (last) {
    End(absl::OkStatus());
  } else {
    std::lock_guard<std::mutex> lock(mu_);
    busy_ = changed_;
    if (busy_) needs_.disk->Post([self = Self()] { self->ReadSome(); });
  }
}

bool LogStream::NothingMoreComes() const {
  if (!finish_.has_value()) return false;
  if (needs_.clock->Now() >= finish_->at + kGrace) return true;
  return std::all_of(finish_->ranks.begin(), finish_->ranks.end(), [&](int rank) {
    const auto& wanted = request_.ranks();
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), rank) == wanted.end()) return true;
    return needs_.logs->SawEnd(job_, finish_->generation, rank);
  });
}

void LogStream::OnWritten() {
  needs_.disk->Post([self = Self()] { self->ReadSome(); });
}

void LogStream::OnOver() {
  std::vector<JobSignal::Subscription> subscriptions;
  std::lock_guard<std::mutex> lock(mu_);
  subscriptions.swap(subscriptions_);
}

std::shared_ptr<LogStream> LogStream::Self() { return std::static_pointer_cast<LogStream>(shared_from_this()); }

// A stream whose client is gone must not be held by what it waits for.
template <typename F>
std::function<void()> LogStream::Weakly(F f) {
  return [weak = std::weak_ptr<LogStream>(Self()), f] {
    if (auto self = weak.lock()) f(*self);
  };
}

}  // namespace muster::coordinator
