#ifndef MUSTER_WORKER_TRAIN_TESTING_H_
#define MUSTER_WORKER_TRAIN_TESTING_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "proto/job.pb.h"
#include "worker/data/token_dataset.h"
#include "worker/train/trainer.h"

namespace muster::worker {

// Tokens in memory, cut as TokenDataset says.
class FakeDataset final : public TokenDataset {
 public:
  FakeDataset(std::vector<int32_t> tokens, int64_t context) : tokens_(std::move(tokens)), context_(context) {}
  int64_t samples() const override { return (static_cast<int64_t>(tokens_.size()) - 1) / context_; }
  absl::Status Read(int64_t id, absl::Span<int32_t> out) const override;

 private:
  const std::vector<int32_t> tokens_;
  const int64_t context_;
};

// A model of a few thousand parameters, five micro-batches of two sequences a step; 23 possible tokens.
v1::TrainSpec SmallSpec();

// Tokens that a model can learn something of: each follows from the one before, with noise.
std::vector<int32_t> SomeTokens(int64_t count, int vocab, uint32_t seed);

// One trainer a rank, each call on a thread of its own, as in a gang of `world` workers.
class Gang {
 public:
  // Borrows data. Every Create must succeed.
  Gang(const v1::TrainSpec& spec, int world, const TokenDataset& data, int threads = 1);

  int world() const { return static_cast<int>(trainers_.size()); }
  Trainer& rank(int rank) { return *trainers_[rank]; }

  // Calls fn(rank, its trainer) for all ranks at the same time.
  void ForAll(const std::function<void(int, Trainer&)>& fn);

  // A step on all ranks; fails the test when ranks disagree. Rank 0's result.
  StepResult Step(bool flag = false);

  // Whole tensors "param/...", "exp_avg/...", "exp_avg_sq/..." put together from all ranks' slices; fails the test when
  // an element is missing or comes twice.
  using State = std::map<std::string, std::vector<float>>;
  State Export();
  void Load(const State& state, int64_t step);

 private:
  std::vector<std::unique_ptr<Communicator>> comms_;
  std::vector<std::unique_ptr<Trainer>> trainers_;
};

}  // namespace muster::worker

#endif  // MUSTER_WORKER_TRAIN_TESTING_H_
