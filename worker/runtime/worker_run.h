#ifndef MUSTER_WORKER_RUNTIME_WORKER_RUN_H_
#define MUSTER_WORKER_RUNTIME_WORKER_RUN_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/file_system.h"
#include "proto/worker.pb.h"
#include "worker/comm/factory.h"
#include "worker/runtime/agent_link.h"
#include "worker/runtime/exit_code.h"
#include "worker/runtime/termination.h"
#include "worker/train/trainer.h"

namespace muster::worker {

struct WorkerEnv {
  // From the environment that the agent gave.
  v1::WorkerRef worker;
  AgentLink* agent = nullptr;
  FileSystem* fs = FileSystem::Posix();
  Clock* clock = Clock::Real();
  // Of this machine, for all workers on it.
  int cores = 1;
  std::function<absl::StatusOr<std::unique_ptr<Communicator>>(const CommOptions&, const ExchangeFn&)> new_communicator =
      NewGlooCommunicator;
  std::function<absl::StatusOr<std::unique_ptr<Trainer>>(const v1::TrainSpec&, Communicator*, const TokenDataset*,
                                                         int threads)>
      new_trainer = Trainer::Create;
  // Called from another thread when the agent disowns this worker while it is busy: ends the process.
  std::function<void(ExitCode)> exit_now;
  // May be null.
  Termination* termination = nullptr;
};

// One worker's part in one generation of a job, from Hello to the last committed checkpoint. What goes wrong is told to
// the agent and logged in one line before it returns.
ExitCode RunWorker(const WorkerEnv& env);

}  // namespace muster::worker

#endif  // MUSTER_WORKER_RUNTIME_WORKER_RUN_H_
