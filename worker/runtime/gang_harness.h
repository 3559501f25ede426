#ifndef MUSTER_WORKER_RUNTIME_GANG_HARNESS_H_
#define MUSTER_WORKER_RUNTIME_GANG_HARNESS_H_

#include <functional>
#include <string>
#include <vector>

#include "common/file_system.h"
#include "worker/runtime/fake_job.h"
#include "worker/runtime/worker_run.h"

namespace muster::worker {

// A folder of the test's own.
std::string NewTestFolder();

// A model so small that a step takes a millisecond; its files lie in `folder`. 12 sequences a step, `samples` samples.
v1::JobSpec TinyJob(const std::string& folder, int64_t steps, int samples = 50);

// Runs a generation of `job` with a thread for each rank (RunWorker with the real trainer and checkpoints), from start
// to the end of all. `change` may alter a rank's environment.
std::vector<ExitCode> RunGeneration(FakeJob* job, int world,
                                    const std::function<void(int rank, WorkerEnv*)>& change = {});

}  // namespace muster::worker

#endif  // MUSTER_WORKER_RUNTIME_GANG_HARNESS_H_
