#ifndef MUSTER_WORKER_MODEL_OPS_THREAD_POOL_H_
#define MUSTER_WORKER_MODEL_OPS_THREAD_POOL_H_

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"

namespace muster::worker::ops {

// Part `part` of `parts` of [0, n): contiguous, in order, as even as multiples of `grain` allow (only the end of the
// last part need not be one). Parts may be empty.
struct Part {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t size() const { return end - begin; }
};
Part PartOf(int64_t n, int64_t grain, int part, int parts);

// The threads that an operation's loops are spread over: the caller and threads - 1 others. An operation is much
// shorter than a wake-up of a sleeping thread may take, so waiting begins with a short spin; the spin is bounded,
// because other workers share the machine.
//
// What a part computes depends on (n, grain, threads) alone, never on timing. One thread at a time may call; `fn` must
// not call the pool.
class ThreadPool {
 public:
  // threads >= 1.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(others_.size()) + 1; }

  // Calls fn(part, threads()) once for each part in [0, threads()), all at the same time; returns when all are done.
  void Run(absl::FunctionRef<void(int part, int parts)> fn);

  // Calls fn(begin, end) for each part of [0, n) that is not empty.
  void ParallelFor(int64_t n, int64_t grain, absl::FunctionRef<void(int64_t begin, int64_t end)> fn);

 private:
  void Serve(int part);

  // Changes with each Run; the threads wait on it.
  std::atomic<uint32_t> round_{0};
  // Other threads that have not finished the round.
  std::atomic<int> pending_{0};
  // Written before round_ changes, read after.
  const absl::FunctionRef<void(int, int)>* fn_ = nullptr;
  bool stopping_ = false;
  std::vector<std::thread> others_;
};

}  // namespace muster::worker::ops

#endif  // MUSTER_WORKER_MODEL_OPS_THREAD_POOL_H_
