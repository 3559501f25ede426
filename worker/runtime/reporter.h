#ifndef MUSTER_WORKER_RUNTIME_REPORTER_H_
#define MUSTER_WORKER_RUNTIME_REPORTER_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "proto/worker.pb.h"
#include "worker/runtime/agent_link.h"

namespace muster::worker {

// Tells the agent how this worker does, on a thread of its own: at once when something happened, otherwise every 200
// ms. Keeps what was not accepted and tells it again, so an agent may restart. Thread-safe.
class Reporter {
 public:
  struct Options {
    AgentLink* agent = nullptr;
    Clock* clock = Clock::Real();
    v1::WorkerRef worker;
    // Called once, from the reporter's thread, when the agent says that this worker should not be (an old generation).
    std::function<void(const absl::Status&)> on_fenced;
  };
  explicit Reporter(Options options);
  ~Reporter();

  void SetStep(int64_t step);
  void AddMetrics(const v1::StepMetrics& metrics);
  // Told until its step is committed or there is a newer one.
  void SetShard(const v1::ShardReport& shard);
  void AddPublished(const v1::CheckpointPublished& published);
  void SetFailure(v1::FailureKind kind, const std::string& message);

  // What the agent last said.
  v1::ReportReply directives();
  bool hold_at_checkpoint();
  // Waits until `ready` holds of the directives, or until `deadline`, or until Interrupt. Returns ready().
  bool WaitFor(absl::Time deadline, const std::function<bool(const v1::ReportReply&)>& ready);
  // Waits until the agent has accepted all that was told before the call.
  bool Flush(absl::Duration limit);
  // Ends all calls of WaitFor, now and later.
  void Interrupt();
  // Whether the agent said that this worker should not be.
  bool fenced();

 private:
  void Run();
  v1::ReportRequest Request() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Accepted(const v1::ReportRequest& request, const v1::ReportReply& reply) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Something happened.
  void Touch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Options options_;

  std::mutex mu_;
  std::condition_variable cv_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  bool interrupted_ ABSL_GUARDED_BY(mu_) = false;
  bool fenced_ ABSL_GUARDED_BY(mu_) = false;
  // Happenings so far, and those that the agent knows of.
  uint64_t told_ ABSL_GUARDED_BY(mu_) = 1;
  uint64_t accepted_ ABSL_GUARDED_BY(mu_) = 0;
  // Callers that wait for a directive: ask more often.
  int waiters_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t step_ ABSL_GUARDED_BY(mu_) = 0;
  std::deque<v1::StepMetrics> metrics_ ABSL_GUARDED_BY(mu_);
  v1::ShardReport shard_ ABSL_GUARDED_BY(mu_);
  std::deque<v1::CheckpointPublished> published_ ABSL_GUARDED_BY(mu_);
  v1::WorkerFailure failure_ ABSL_GUARDED_BY(mu_);
  v1::ReportReply directives_ ABSL_GUARDED_BY(mu_);

  std::thread thread_;
};

}  // namespace muster::worker

#endif  // MUSTER_WORKER_RUNTIME_REPORTER_H_
