#include "coordinator/runtime/executor.h"

namespace muster::coordinator {

Executor::Executor(Clock* clock) : clock_(clock), thread_([this] { Run(); }) {}

Executor::~Executor() { Stop(); }

void Executor::Post(std::function<void()> task) { PostAt(absl::InfinitePast(), std::move(task)); }

void Executor::PostAt(absl::Time at, std::function<void()> task) {
  {
    std::lock_guard<std::mutex> lock(mu_);
    if (stopping_) return;
    tasks_.emplace(std::make_pair(at, next_++), std::move(task));
  }
  cv_.notify_one();
}

void Executor::Stop() {
  {
    std::lock_guard<std::mutex> lock(mu_);
    stopping_ = true;
  }
  cv_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Executor::Run() {
  std::unique_lock<std::mutex> lock(mu_);
  const auto due = [&] { return !tasks_.empty() && tasks_.begin()->first.first <= clock_->Now(); };
  while (true) {
    const absl::Time next = tasks_.empty() ? absl::InfiniteFuture() : tasks_.begin()->first.first;
    const size_t count = tasks_.size();
    clock_->WaitUntil(lock, cv_, next, [&] { return stopping_ || due() || tasks_.size() != count; });
    while (due()) {
      auto task = tasks_.extract(tasks_.begin());
      lock.unlock();
      task.mapped()();
      task.mapped() = nullptr;
      lock.lock();
    }
    if (stopping_) return;
  }
}

}  // namespace muster::coordinator
