#ifndef MUSTER_WORKER_RUNTIME_PUBLISHER_H_
#define MUSTER_WORKER_RUNTIME_PUBLISHER_H_

#include <atomic>
#include <set>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "common/clock.h"
#include "common/file_system.h"
#include "proto/worker.pb.h"
#include "worker/runtime/reporter.h"

namespace muster::worker {

// Rank 0's duty beside training: publishes committed checkpoints and removes old ones as the coordinator says, on a
// thread of its own so that steps do not wait for a slow disk.
class Publisher {
 public:
  struct Options {
    FileSystem* fs = nullptr;
    Clock* clock = Clock::Real();
    Reporter* reporter = nullptr;
    v1::WorkerRef worker;
    std::string job_dir;
    std::string job_uid;
  };
  explicit Publisher(Options options);
  // Before Start: publishes on the caller's thread, tells it, and passes the error on.
  absl::Status PublishNow(const v1::CheckpointManifest& manifest);
  // From here on the directives are followed.
  void Start();
  // Ends after the operation under way. Interrupts the reporter's waits.
  ~Publisher();

 private:
  void Run();
  bool HasWork(const v1::ReportReply& directives) const;
  // Whether all of it went well.
  bool Perform(const v1::ReportReply& directives);

  v1::CheckpointPublished Report() const;

  const Options options_;
  std::atomic<bool> stopping_{false};
  // Done and told; the directive stays until the coordinator has heard of it. The thread's own.
  std::set<int64_t> published_;
  std::set<int64_t> removed_;
  std::thread thread_;
};

}  // namespace muster::worker

#endif  // MUSTER_WORKER_RUNTIME_PUBLISHER_H_
