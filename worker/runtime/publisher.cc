#include "worker/runtime/publisher.h"

#include <algorithm>
#include <utility>

#include "common/log.h"
#include "worker/checkpoint/checkpoint.h"

namespace muster::worker {
namespace {

// After an operation that failed.
constexpr absl::Duration kPause = absl::Seconds(1);

constexpr int kRetries = 3;
constexpr absl::Duration kRetryPause = absl::Milliseconds(200);

}  // namespace

Publisher::Publisher(Options options) : options_(std::move(options)) {}

void Publisher::Start() {
  thread_ = std::thread([this] { Run(); });
}

absl::Status Publisher::PublishNow(const v1::CheckpointManifest& manifest) {
  auto path = Publish(options_.fs, options_.job_dir, manifest);
  // A rank 0 of an older generation, cut off and not dead yet, may be doing the same. It is done once.
  for (int retry = 0; !path.ok() && retry < kRetries; ++retry) {
    options_.reporter->WaitFor(options_.clock->Now() + kRetryPause, [](const v1::ReportReply&) { return false; });
    path = Publish(options_.fs, options_.job_dir, manifest);
  }
  if (!path.ok()) return path.status();
  LogInfo("published checkpoint %s", *path);
  published_.insert(manifest.step());
  v1::CheckpointPublished done = Report();
  done.set_step(manifest.step());
  options_.reporter->AddPublished(done);
  return absl::OkStatus();
}

v1::CheckpointPublished Publisher::Report() const {
  v1::CheckpointPublished report;
  report.set_job_id(options_.worker.job_id());
  report.set_generation(options_.worker.generation());
  return report;
}

Publisher::~Publisher() {
  if (!thread_.joinable()) return;
  stopping_ = true;
  options_.reporter->Interrupt();
  thread_.join();
}

bool Publisher::HasWork(const v1::ReportReply& directives) const {
  if (directives.has_publish() && published_.count(directives.publish().step()) == 0) return true;
  return std::any_of(directives.remove_steps().begin(), directives.remove_steps().end(),
                     [&](int64_t step) { return removed_.count(step) == 0; });
}

void Publisher::Run() {
  const auto stopping = [&](const v1::ReportReply&) { return stopping_.load(); };
  while (!stopping_) {
    // Without work only if the reporter hears no more.
    if (!options_.reporter->WaitFor(absl::InfiniteFuture(), [&](const v1::ReportReply& d) { return HasWork(d); }))
      return;
    if (stopping_) return;
    if (!Perform(options_.reporter->directives())) {
      options_.reporter->WaitFor(options_.clock->Now() + kPause, stopping);
    }
  }
}

bool Publisher::Perform(const v1::ReportReply& directives) {
  v1::CheckpointPublished done = Report();
  bool well = true;
  if (directives.has_publish() && published_.count(directives.publish().step()) == 0) {
    done.set_step(directives.publish().step());
    const auto path = Publish(options_.fs, options_.job_dir, directives.publish());
    if (path.ok()) {
      LogInfo("published checkpoint %s", *path);
      published_.insert(done.step());
    } else {
      LogWarning("cannot publish the checkpoint of step %d: %s", done.step(), path.status().message());
      done.set_error(std::string(path.status().message()));
      well = false;
    }
  }
  for (int64_t step : directives.remove_steps()) {
    if (removed_.count(step) != 0) continue;
    const absl::Status s = RemoveCheckpoint(options_.fs, options_.job_dir, step, options_.job_uid);
    // A folder of that name that belongs to another job is none of ours any more.
    if (absl::IsFailedPrecondition(s)) LogWarning("left the checkpoint of step %d alone: %s", step, s.message());
    if (s.ok() || absl::IsFailedPrecondition(s)) {
      removed_.insert(step);
      done.add_removed_steps(step);
    } else {
      LogWarning("cannot remove the checkpoint of step %d: %s", step, s.message());
      well = false;
    }
  }
  options_.reporter->AddPublished(done);
  return well;
}

}  // namespace muster::worker
