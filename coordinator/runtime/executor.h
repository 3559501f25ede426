#ifndef MUSTER_COORDINATOR_RUNTIME_EXECUTOR_H_
#define MUSTER_COORDINATOR_RUNTIME_EXECUTOR_H_

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/time/time.h"
#include "common/clock.h"

namespace muster::coordinator {

// One thread that runs what it is given, in the order of the times given: for work that may wait for a disk, which
// neither the driver's nor gRPC's threads may, and for work that is due later.
class Executor {
 public:
  explicit Executor(Clock* clock);
  // Stops.
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Thread-safe; after Stop they do nothing.
  void Post(std::function<void()> task);
  void PostAt(absl::Time at, std::function<void()> task);

  // What is due is run, what is due later is dropped. Not from a task.
  void Stop();

 private:
  void Run();

  Clock* const clock_;

  std::mutex mu_;
  std::condition_variable cv_;
  // Guarded by mu_. By time, then by the order they came in.
  std::map<std::pair<absl::Time, uint64_t>, std::function<void()>> tasks_;
  uint64_t next_ = 0;
  bool stopping_ = false;

  std::thread thread_;
};

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_RUNTIME_EXECUTOR_H_
