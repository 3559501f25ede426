#ifndef MUSTER_WORKER_RUNTIME_TERMINATION_H_
#define MUSTER_WORKER_RUNTIME_TERMINATION_H_

#include <functional>
#include <mutex>
#include <utility>

#include "absl/base/thread_annotations.h"

namespace muster::worker {

// What is still to be said when this process is told to end: set by the run, called by whoever heard the signal.
class Termination {
 public:
  void SetLastWords(std::function<void()> last_words) {
    std::lock_guard<std::mutex> lock(mu_);
    last_words_ = std::move(last_words);
  }
  void SayLastWords() {
    std::lock_guard<std::mutex> lock(mu_);
    if (last_words_) last_words_();
  }

 private:
  std::mutex mu_;
  std::function<void()> last_words_ ABSL_GUARDED_BY(mu_);
};

}  // namespace muster::worker

#endif  // MUSTER_WORKER_RUNTIME_TERMINATION_H_
