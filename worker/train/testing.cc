#include "worker/train/testing.h"

#include <algorithm>
#include <random>
#include <thread>

#include "gtest/gtest.h"
#include "worker/comm/in_process.h"

namespace muster::worker {

absl::Status FakeDataset::Read(int64_t id, absl::Span<int32_t> out) const {
  if (id < 0 || id >= samples()) return absl::DataLossError("no such sample");
  std::copy_n(tokens_.begin() + id * context_, out.size(), out.begin());
  return absl::OkStatus();
}

v1::TrainSpec SmallSpec() {
  v1::TrainSpec spec;
  spec.mutable_model()->set_layers(2);
  spec.mutable_model()->set_heads(2);
  spec.mutable_model()->set_channels(16);
  spec.mutable_model()->set_vocab(23);
  spec.mutable_model()->set_context(12);
  spec.mutable_batch()->set_global(10);
  spec.mutable_batch()->set_micro(2);
  spec.mutable_optimizer()->set_beta1(0.9);
  spec.mutable_optimizer()->set_beta2(0.95);
  spec.mutable_optimizer()->set_eps(1e-8);
  spec.mutable_optimizer()->set_weight_decay(0.1);
  spec.mutable_optimizer()->set_clip(1.0);
  spec.mutable_schedule()->set_lr(3e-3);
  spec.mutable_schedule()->set_min_lr(3e-4);
  spec.mutable_schedule()->set_warmup_steps(5);
  spec.mutable_schedule()->set_decay_steps(40);
  spec.set_steps(40);
  spec.set_seed(11);
  spec.set_sharding(v1::ZERO1);
  return spec;
}

std::vector<int32_t> SomeTokens(int64_t count, int vocab, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int32_t> tokens(count);
  for (int64_t i = 1; i < count; ++i) {
    tokens[i] = static_cast<int32_t>(random() % 4 == 0 ? random() % vocab : (tokens[i - 1] * 5 + 3) % vocab);
  }
  return tokens;
}

Gang::Gang(const v1::TrainSpec& spec, int world, const TokenDataset& data, int threads)
    : comms_(NewInProcessGroup(world)), trainers_(world) {
  for (int rank = 0; rank < world; ++rank) {
    trainers_[rank] = *Trainer::Create(spec, comms_[rank].get(), &data, threads);
  }
}

void Gang::ForAll(const std::function<void(int, Trainer&)>& fn) {
  std::vector<std::thread> threads;
  threads.reserve(trainers_.size());
  for (int rank = 0; rank < world(); ++rank) {
    threads.emplace_back([&, rank] { fn(rank, *trainers_[rank]); });
  }
  for (std::thread& thread : threads) thread.join();
}

StepResult Gang::Step(bool flag) {
  std::vector<StepResult> results(world());
  ForAll([&](int rank, Trainer& trainer) {
    const absl::StatusOr<StepResult> result = trainer.Step(flag);
    ASSERT_TRUE(result.ok()) << result.status();
    results[rank] = *result;
  });
  for (const StepResult& result : results) {
    EXPECT_EQ(result.step, results[0].step);
    EXPECT_EQ(result.loss, results[0].loss);
    EXPECT_EQ(result.grad_norm, results[0].grad_norm);
    EXPECT_EQ(result.flag, results[0].flag);
  }
  return results[0];
}

Gang::State Gang::Export() {
  State state;
  std::map<std::string, std::vector<int>> times;
  for (const std::unique_ptr<Trainer>& trainer : trainers_) {
    for (const TensorSlice& slice : trainer->StateSlices()) {
      int64_t elements = 1;
      for (const int64_t dimension : slice.shape) elements *= dimension;
      state[slice.name].resize(elements);
      times[slice.name].resize(elements);
      std::copy(slice.data.begin(), slice.data.end(), state[slice.name].begin() + slice.start);
      for (size_t i = 0; i < slice.data.size(); ++i) ++times[slice.name].at(slice.start + i);
    }
  }
  for (const auto& [name, counts] : times) EXPECT_EQ(counts, std::vector<int>(counts.size(), 1)) << name;
  return state;
}

void Gang::Load(const State& state, int64_t step) {
  ForAll([&](int, Trainer& trainer) {
    for (const TensorSlice& slice : trainer.StateSlices()) {
      std::copy_n(state.at(slice.name).begin() + slice.start, slice.data.size(), slice.data.begin());
    }
    const absl::Status status = trainer.FinishLoad(step);
    ASSERT_TRUE(status.ok()) << status;
  });
}

}  // namespace muster::worker
