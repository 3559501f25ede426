#include "worker/runtime/gang_harness.h"

#include <stdlib.h>

#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/spec/job_spec.h"
#include "worker/comm/in_process.h"

namespace muster::worker {
namespace {

// Owned by the worker and, weakly, by the harness, which aborts it where a process would be ended.
class SharedCommunicator final : public Communicator {
 public:
  explicit SharedCommunicator(std::shared_ptr<Communicator> comm) : comm_(std::move(comm)) {}
  int rank() const override { return comm_->rank(); }
  int size() const override { return comm_->size(); }
  absl::Status AllReduceSum(Buffer inout) override { return comm_->AllReduceSum(inout); }
  absl::Status ReduceScatterSum(ConstBuffer in, Buffer out) override { return comm_->ReduceScatterSum(in, out); }
  absl::Status AllGather(ConstBuffer in, Buffer out) override { return comm_->AllGather(in, out); }
  absl::Status Broadcast(Buffer inout, int root) override { return comm_->Broadcast(inout, root); }
  absl::Status Barrier() override { return comm_->Barrier(); }
  void Abort() override { comm_->Abort(); }

 private:
  const std::shared_ptr<Communicator> comm_;
};

struct RankState {
  std::mutex mu;
  bool ended = false;
  std::weak_ptr<Communicator> comm;

  void Keep(const std::shared_ptr<Communicator>& c) {
    std::lock_guard<std::mutex> lock(mu);
    comm = c;
    if (ended) c->Abort();
  }
  void End() {
    std::lock_guard<std::mutex> lock(mu);
    ended = true;
    if (auto c = comm.lock()) c->Abort();
  }
};

}  // namespace

std::string NewTestFolder() {
  const char* const base = std::getenv("TEST_TMPDIR");
  std::string path = absl::StrCat(base == nullptr ? "/tmp" : base, "/runXXXXXX");
  return mkdtemp(path.data());
}

v1::JobSpec TinyJob(const std::string& folder, int64_t steps, int samples) {
  v1::JobSpec spec;
  spec.set_name("job");
  v1::TrainSpec* train = spec.mutable_train();
  train->mutable_model()->set_layers(1);
  train->mutable_model()->set_heads(2);
  train->mutable_model()->set_channels(16);
  train->mutable_model()->set_vocab(64);
  train->mutable_model()->set_context(8);
  train->mutable_batch()->set_global(12);
  train->mutable_batch()->set_micro(2);
  train->mutable_data()->set_train(folder + "/train.bin");
  train->mutable_data()->set_format(v1::RAW_U16);
  train->set_steps(steps);
  train->set_seed(7);
  train->set_sample_log_dir(folder + "/samples");
  spec.mutable_checkpoint()->set_dir(folder + "/checkpoints");
  spec.mutable_checkpoint()->set_every(4);
  spec.mutable_checkpoint()->set_keep(2);
  ApplyDefaults(&spec);

  std::string tokens;
  for (int i = 0; i <= samples * 8; ++i) {
    tokens.push_back(static_cast<char>((i * i + i / 3) % 64));
    tokens.push_back('\0');
  }
  auto file = FileSystem::Posix()->NewWritableFile(folder + "/train.bin");
  if (!file.ok() || !(*file)->Append(tokens).ok() || !(*file)->Close().ok()) std::abort();
  return spec;
}

std::vector<ExitCode> RunGeneration(FakeJob* job, int world, const std::function<void(int, WorkerEnv*)>& change) {
  std::vector<std::shared_ptr<Communicator>> group;
  for (auto& comm : NewInProcessGroup(world)) group.push_back(std::move(comm));
  std::vector<RankState> states(world);
  std::vector<ExitCode> codes(world);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < world; ++rank) {
    threads.emplace_back([&, rank] {
      const std::unique_ptr<AgentLink> agent = job->Agent(rank);
      WorkerEnv env;
      env.worker = job->Worker(rank);
      env.agent = agent.get();
      env.new_communicator = [&, rank](const CommOptions&,
                                       const ExchangeFn& exchange) -> absl::StatusOr<std::unique_ptr<Communicator>> {
        if (auto blobs = exchange("blob"); !blobs.ok()) return blobs.status();
        states[rank].Keep(group[rank]);
        return std::make_unique<SharedCommunicator>(std::move(group[rank]));
      };
      env.exit_now = [&, rank](ExitCode) { states[rank].End(); };
      if (change) change(rank, &env);
      codes[rank] = RunWorker(env);
    });
  }
  for (std::thread& t : threads) t.join();
  return codes;
}

}  // namespace muster::worker
