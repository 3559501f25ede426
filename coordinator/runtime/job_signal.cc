#include "coordinator/runtime/job_signal.h"

#include <utility>
#include <vector>

namespace muster::coordinator {

JobSignal::Subscription& JobSignal::Subscription::operator=(Subscription&& other) noexcept {
  if (this != &other) {
    Reset();
    signal_ = std::exchange(other.signal_, nullptr);
    job_ = std::move(other.job_);
    id_ = other.id_;
  }
  return *this;
}

void JobSignal::Subscription::Reset() {
  JobSignal* const signal = std::exchange(signal_, nullptr);
  if (signal == nullptr) return;
  std::shared_ptr<std::function<void()>> last;  // destroyed outside of the lock
  std::lock_guard<std::mutex> lock(signal->mu_);
  auto job = signal->subscribers_.find(job_);
  auto subscriber = job->second.find(id_);
  last = std::move(subscriber->second);
  job->second.erase(subscriber);
  if (job->second.empty()) signal->subscribers_.erase(job);
}

JobSignal::Subscription JobSignal::Subscribe(const JobId& job, std::function<void()> changed) {
  std::lock_guard<std::mutex> lock(mu_);
  const uint64_t id = next_++;
  subscribers_[job].emplace(id, std::make_shared<std::function<void()>>(std::move(changed)));
  return Subscription(this, job, id);
}

void JobSignal::Notify(const JobId& job) {
  std::vector<std::shared_ptr<std::function<void()>>> to_call;
  {
    std::lock_guard<std::mutex> lock(mu_);
    auto it = subscribers_.find(job);
    if (it == subscribers_.end()) return;
    for (const auto& [id, changed] : it->second) to_call.push_back(changed);
  }
  for (const auto& changed : to_call) (*changed)();
}

size_t JobSignal::size() const {
  std::lock_guard<std::mutex> lock(mu_);
  size_t n = 0;
  for (const auto& [job, subscribers] : subscribers_) n += subscribers.size();
  return n;
}

}  // namespace muster::coordinator
