#include "worker/runtime/reporter.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/log.h"

namespace muster::worker {
namespace {

constexpr absl::Duration kInterval = absl::Milliseconds(200);
// While somebody waits for a directive.
constexpr absl::Duration kShortInterval = absl::Milliseconds(20);
// After a report that did not arrive.
constexpr absl::Duration kPause = absl::Milliseconds(100);

// Steps in one report: a message stays far below gRPC's 4 MiB even with a sample of text in each.
constexpr int kMostSteps = 256;

}  // namespace

Reporter::Reporter(Options options) : options_(std::move(options)), thread_([this] { Run(); }) {}

Reporter::~Reporter() {
  {
    std::lock_guard<std::mutex> lock(mu_);
    stopping_ = true;
    cv_.notify_all();
  }
  thread_.join();
}

void Reporter::Touch() {
  ++told_;
  cv_.notify_all();
}

void Reporter::SetStep(int64_t step) {
  std::lock_guard<std::mutex> lock(mu_);
  step_ = step;
  Touch();
}

void Reporter::AddMetrics(const v1::StepMetrics& metrics) {
  std::lock_guard<std::mutex> lock(mu_);
  metrics_.push_back(metrics);
  Touch();
}

void Reporter::SetShard(const v1::ShardReport& shard) {
  std::lock_guard<std::mutex> lock(mu_);
  shard_ = shard;
  Touch();
}

void Reporter::AddPublished(const v1::CheckpointPublished& published) {
  std::lock_guard<std::mutex> lock(mu_);
  published_.push_back(published);
  Touch();
}

void Reporter::SetFailure(v1::FailureKind kind, const std::string& message) {
  std::lock_guard<std::mutex> lock(mu_);
  failure_.set_job_id(options_.worker.job_id());
  failure_.set_generation(options_.worker.generation());
  failure_.set_rank(options_.worker.rank());
  failure_.set_kind(kind);
  failure_.set_message(message);
  Touch();
}

v1::ReportReply Reporter::directives() {
  std::lock_guard<std::mutex> lock(mu_);
  return directives_;
}

bool Reporter::hold_at_checkpoint() {
  std::lock_guard<std::mutex> lock(mu_);
  return directives_.hold_at_checkpoint();
}

bool Reporter::WaitFor(absl::Time deadline, const std::function<bool(const v1::ReportReply&)>& ready) {
  std::unique_lock<std::mutex> lock(mu_);
  ++waiters_;
  cv_.notify_all();
  options_.clock->WaitUntil(lock, cv_, deadline, [&] { return interrupted_ || fenced_ || ready(directives_); });
  --waiters_;
  return ready(directives_);
}

bool Reporter::Flush(absl::Duration limit) {
  std::unique_lock<std::mutex> lock(mu_);
  const uint64_t told = told_;
  options_.clock->WaitUntil(lock, cv_, options_.clock->Now() + limit, [&] { return accepted_ >= told || fenced_; });
  return accepted_ >= told;
}

void Reporter::Interrupt() {
  std::lock_guard<std::mutex> lock(mu_);
  interrupted_ = true;
  cv_.notify_all();
}

bool Reporter::fenced() {
  std::lock_guard<std::mutex> lock(mu_);
  return fenced_;
}

v1::ReportRequest Reporter::Request() {
  v1::ReportRequest request;
  *request.mutable_worker() = options_.worker;
  for (const v1::StepMetrics& metrics : metrics_) {
    if (request.steps_size() == kMostSteps) break;
    *request.add_steps() = metrics;
  }
  if (shard_.step() > 0) *request.mutable_shard() = shard_;
  if (!published_.empty()) *request.mutable_published() = published_.front();
  if (!failure_.message().empty()) *request.mutable_failure() = failure_;
  request.set_step(step_);
  return request;
}

void Reporter::Accepted(const v1::ReportRequest& request, const v1::ReportReply& reply) {
  metrics_.erase(metrics_.begin(), metrics_.begin() + request.steps_size());
  if (request.has_published()) published_.pop_front();
  directives_ = reply;
  if (reply.committed_step() >= shard_.step()) shard_.Clear();
}

void Reporter::Run() {
  std::unique_lock<std::mutex> lock(mu_);
  while (!stopping_) {
    const uint64_t told = told_;
    const v1::ReportRequest request = Request();
    const bool complete = request.steps_size() == static_cast<int>(metrics_.size()) && published_.size() <= 1;
    lock.unlock();
    const absl::StatusOr<v1::ReportReply> reply = options_.agent->Report(request);
    lock.lock();
    const absl::Time now = options_.clock->Now();
    if (reply.ok()) {
      Accepted(request, *reply);
      if (complete) accepted_ = told;
      cv_.notify_all();
      if (!complete) continue;
      const int waiters = waiters_;
      options_.clock->WaitUntil(lock, cv_, now + (waiters > 0 ? kShortInterval : kInterval),
                                [&] { return stopping_ || told_ != told || waiters_ > waiters; });
    } else if (absl::IsFailedPrecondition(reply.status()) || absl::IsNotFound(reply.status())) {
      fenced_ = true;
      cv_.notify_all();
      lock.unlock();
      if (options_.on_fenced) options_.on_fenced(reply.status());
      return;
    } else {
      options_.clock->WaitUntil(lock, cv_, now + kPause, [&] { return stopping_; });
    }
  }
}

}  // namespace muster::worker
