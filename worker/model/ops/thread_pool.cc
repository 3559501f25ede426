#include "worker/model/ops/thread_pool.h"

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace muster::worker::ops {
namespace {

// About 20 microseconds: longer than the gap between two operations, shorter than a time slice.
constexpr int kSpins = 600;

void Pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

// Returns once `value` is not `old`.
template <typename T>
void AwaitChange(const std::atomic<T>& value, T old) {
  for (int i = 0; i < kSpins; ++i) {
    if (value.load(std::memory_order_acquire) != old) return;
    Pause();
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

Part PartOf(int64_t n, int64_t grain, int part, int parts) {
  const int64_t grains = (n + grain - 1) / grain;
  return {std::min(n, grains * part / parts * grain), std::min(n, grains * (part + 1) / parts * grain)};
}

ThreadPool::ThreadPool(int threads) {
  for (int part = 1; part < threads; ++part) others_.emplace_back([this, part] { Serve(part); });
}

ThreadPool::~ThreadPool() {
  stopping_ = true;
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  for (std::thread& thread : others_) thread.join();
}

void ThreadPool::Run(absl::FunctionRef<void(int, int)> fn) {
  if (others_.empty()) return fn(0, 1);
  fn_ = &fn;
  pending_.store(static_cast<int>(others_.size()), std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  fn(0, threads());
  for (int pending = pending_.load(std::memory_order_acquire); pending != 0;
       pending = pending_.load(std::memory_order_acquire)) {
    AwaitChange(pending_, pending);
  }
}

void ThreadPool::ParallelFor(int64_t n, int64_t grain, absl::FunctionRef<void(int64_t, int64_t)> fn) {
  Run([&](int part, int parts) {
    const Part range = PartOf(n, grain, part, parts);
    if (range.size() > 0) fn(range.begin, range.end);
  });
}

void ThreadPool::Serve(int part) {
  // No round is missed by a thread that starts late: Run does not return before all have served it.
  for (uint32_t round = 0;; ++round) {
    AwaitChange(round_, round);
    if (stopping_) return;
    (*fn_)(part, threads());
    if (pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) pending_.notify_one();
  }
}

}  // namespace muster::worker::ops
