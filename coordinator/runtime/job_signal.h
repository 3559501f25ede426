#ifndef MUSTER_COORDINATOR_RUNTIME_JOB_SIGNAL_H_
#define MUSTER_COORDINATOR_RUNTIME_JOB_SIGNAL_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "common/ids.h"

namespace muster::coordinator {

// Who wants to know when something about a job changes. Thread-safe.
class JobSignal {
 public:
  // Ends the subscription when it is destroyed; a call under way may still end after that.
  class Subscription {
   public:
    Subscription() = default;
    Subscription(JobSignal* signal, JobId job, uint64_t id) : signal_(signal), job_(std::move(job)), id_(id) {}
    Subscription(Subscription&& other) noexcept { *this = std::move(other); }
    Subscription& operator=(Subscription&& other) noexcept;
    ~Subscription() { Reset(); }
    void Reset();

   private:
    JobSignal* signal_ = nullptr;
    JobId job_;
    uint64_t id_ = 0;
  };

  // `changed` must not block; it is called by whoever notifies. The signal outlives the subscription.
  [[nodiscard]] Subscription Subscribe(const JobId& job, std::function<void()> changed);

  void Notify(const JobId& job);

  // For tests and for views of the coordinator's own load.
  size_t size() const;

 private:
  friend class Subscription;

  mutable std::mutex mu_;
  // Guarded by mu_.
  std::map<JobId, std::map<uint64_t, std::shared_ptr<std::function<void()>>>> subscribers_;
  uint64_t next_ = 1;
};

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_RUNTIME_JOB_SIGNAL_H_
