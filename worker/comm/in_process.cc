#include "worker/comm/in_process.h"

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/clock.h"
#include "worker/comm/arguments.h"
#include "worker/comm/sum.h"

namespace muster::worker {
namespace {

enum class Collective { kAllReduce, kReduceScatter, kAllGather, kBroadcast };

struct Call {
  Collective what;
  const void* in;
  void* out;
  // Of the smaller of input and output.
  int64_t count;
  DataType type;
  int root = 0;

  bool SameAs(const Call& other) const {
    return what == other.what && count == other.count && type == other.type && root == other.root;
  }
};

// The meeting place: the last rank to come does the work of all, while the others' memory stands still.
class Group {
 public:
  Group(int size, absl::Duration timeout) : timeout_(timeout), calls_(size), aborted_(size), gone_(size) {}

  int size() const { return static_cast<int>(calls_.size()); }

  absl::Status Run(int rank, const Call& call) {
    std::unique_lock<std::mutex> lock(mu_);
    if (absl::Status s = Health(rank); !s.ok()) return s;
    calls_[rank] = call;
    const uint64_t round = round_;
    if (++arrived_ == size()) {
      result_ = Perform();
      calls_.assign(calls_.size(), std::nullopt);
      arrived_ = 0;
      ++round_;
      cv_.notify_all();
      return result_;
    }
    Clock* const clock = Clock::Real();
    const bool woken =
        clock->WaitUntil(lock, cv_, clock->Now() + timeout_, [&] { return round_ != round || !Health(rank).ok(); });
    if (round_ != round) return result_;
    failed_ = true;
    cv_.notify_all();
    if (woken) return Health(rank);
    return absl::DeadlineExceededError(
        absl::StrCat("rank ", absl::StrJoin(Missing(), ", "), " did not come within ", absl::FormatDuration(timeout_)));
  }

  void Abort(int rank) {
    std::lock_guard<std::mutex> lock(mu_);
    aborted_[rank] = true;
    cv_.notify_all();
  }

  void Leave(int rank) {
    std::lock_guard<std::mutex> lock(mu_);
    gone_[rank] = true;
    cv_.notify_all();
  }

 private:
  // OK while this rank may go on.
  absl::Status Health(int rank) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (aborted_[rank]) return absl::CancelledError("aborted");
    for (int r = 0; r < size(); ++r) {
      if (gone_[r] || aborted_[r]) return absl::UnavailableError(absl::StrCat("rank ", r, " went away"));
    }
    if (failed_) return absl::UnavailableError("the group failed before");
    return absl::OkStatus();
  }

  std::vector<int> Missing() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    std::vector<int> ranks;
    for (int r = 0; r < size(); ++r) {
      if (!calls_[r].has_value()) ranks.push_back(r);
    }
    return ranks;
  }

  absl::Status Perform() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    for (int r = 1; r < size(); ++r) {
      if (!calls_[r]->SameAs(*calls_[0])) {
        return absl::InvalidArgumentError(absl::StrCat("ranks 0 and ", r, " call different collectives or sizes"));
      }
    }
    const Call& first = *calls_[0];
    const int64_t bytes = first.count * SizeOf(first.type);
    if (bytes == 0) return absl::OkStatus();
    switch (first.what) {
      case Collective::kAllReduce:
        SumPart(0, first.count, calls_[0]->out);
        for (int r = 1; r < size(); ++r) std::memcpy(calls_[r]->out, calls_[0]->out, bytes);
        break;
      case Collective::kReduceScatter:
        for (int r = 0; r < size(); ++r) SumPart(r * bytes, first.count, calls_[r]->out);
        break;
      case Collective::kAllGather:
        for (int to = 0; to < size(); ++to) {
          for (int from = 0; from < size(); ++from) {
            void* const place = static_cast<char*>(calls_[to]->out) + from * bytes;
            if (place != calls_[from]->in) std::memcpy(place, calls_[from]->in, bytes);
          }
        }
        break;
      case Collective::kBroadcast:
        for (int r = 0; r < size(); ++r) {
          if (r != first.root) std::memcpy(calls_[r]->out, calls_[first.root]->in, bytes);
        }
        break;
    }
    return absl::OkStatus();
  }

  // All ranks' inputs from `offset` bytes on.
  void SumPart(int64_t offset, int64_t count, void* out) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    std::vector<const void*> parts;
    for (const auto& call : calls_) parts.push_back(static_cast<const char*>(call->in) + offset);
    SumInOrder(calls_[0]->type, parts, count, out);
  }

  const absl::Duration timeout_;

  std::mutex mu_;
  std::condition_variable cv_;
  std::vector<std::optional<Call>> calls_ ABSL_GUARDED_BY(mu_);
  std::vector<bool> aborted_ ABSL_GUARDED_BY(mu_);
  std::vector<bool> gone_ ABSL_GUARDED_BY(mu_);
  bool failed_ ABSL_GUARDED_BY(mu_) = false;
  int arrived_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t round_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Status result_ ABSL_GUARDED_BY(mu_);
};

class InProcessCommunicator final : public Communicator {
 public:
  InProcessCommunicator(std::shared_ptr<Group> group, int rank) : group_(std::move(group)), rank_(rank) {}
  ~InProcessCommunicator() override { group_->Leave(rank_); }

  int rank() const override { return rank_; }
  int size() const override { return group_->size(); }

  absl::Status AllReduceSum(Buffer inout) override {
    if (absl::Status s = CheckAllReduce(inout); !s.ok()) return s;
    return group_->Run(rank_, {Collective::kAllReduce, inout.data, inout.data, inout.count, inout.type});
  }
  absl::Status ReduceScatterSum(ConstBuffer in, Buffer out) override {
    if (absl::Status s = CheckReduceScatter(in, out, size()); !s.ok()) return s;
    return group_->Run(rank_, {Collective::kReduceScatter, in.data, out.data, out.count, out.type});
  }
  absl::Status AllGather(ConstBuffer in, Buffer out) override {
    if (absl::Status s = CheckAllGather(in, out, size()); !s.ok()) return s;
    return group_->Run(rank_, {Collective::kAllGather, in.data, out.data, in.count, in.type});
  }
  absl::Status Broadcast(Buffer inout, int root) override {
    if (absl::Status s = CheckBroadcast(inout, root, size()); !s.ok()) return s;
    return group_->Run(rank_, {Collective::kBroadcast, inout.data, inout.data, inout.count, inout.type, root});
  }
  absl::Status Barrier() override {
    return group_->Run(rank_, {Collective::kBroadcast, nullptr, nullptr, 0, DataType::kByte});
  }
  void Abort() override { group_->Abort(rank_); }

 private:
  const std::shared_ptr<Group> group_;
  const int rank_;
};

}  // namespace

std::vector<std::unique_ptr<Communicator>> NewInProcessGroup(int size, absl::Duration timeout) {
  auto group = std::make_shared<Group>(size, timeout);
  std::vector<std::unique_ptr<Communicator>> ranks;
  for (int r = 0; r < size; ++r) ranks.push_back(std::make_unique<InProcessCommunicator>(group, r));
  return ranks;
}

}  // namespace muster::worker
