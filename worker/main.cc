// muster-worker: one rank of a native training job. Started by an agent, which tells it all it needs: the agent's
// socket and this worker's name by the environment, the rest over the socket.

#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <string>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/log.h"
#include "common/version.h"
#include "worker/rpc/agent_client.h"
#include "worker/runtime/worker_run.h"

namespace muster::worker {
namespace {

int signal_pipe[2] = {-1, -1};

// A handler rather than a blocked signal: libraries start threads before main does, and any thread may get it.
void OnTerminate(int) { [[maybe_unused]] const ssize_t n = write(signal_pipe[1], "", 1); }

[[noreturn]] void ExitNow(ExitCode code) { _exit(static_cast<int>(code)); }

// SIGTERM ends the process from a thread of its own, whatever the others are at.
void HandleSignals(Termination* termination) {
  // A peer that goes away must be an error of the call, not the end of the process.
  signal(SIGPIPE, SIG_IGN);
  if (pipe(signal_pipe) != 0) return;
  std::thread([termination] {
    char byte;
    while (read(signal_pipe[0], &byte, 1) != 1) {
    }
    LogInfo("told to end (SIGTERM)");
    termination->SayLastWords();
    ExitNow(ExitCode::kTerminated);
  }).detach();
  struct sigaction action = {};
  action.sa_handler = OnTerminate;
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, nullptr);
}

// Those that this process may run on.
int Cores() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof(cores), &cores) == 0) return CPU_COUNT(&cores);
  return static_cast<int>(std::thread::hardware_concurrency());
}

std::string Env(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int Main() {
  SetLogProgram("muster-worker");
  static Termination termination;
  HandleSignals(&termination);

  WorkerEnv env;
  const std::string socket = Env("MUSTER_AGENT_SOCKET");
  uint64_t generation = 0;
  int rank = 0;
  if (socket.empty() || Env("MUSTER_JOB_ID").empty() || !absl::SimpleAtoi(Env("MUSTER_GENERATION"), &generation) ||
      !absl::SimpleAtoi(Env("RANK"), &rank) || rank < 0) {
    LogError(
        "MUSTER_AGENT_SOCKET, MUSTER_JOB_ID, MUSTER_GENERATION and RANK are not all set: this program is started by "
        "muster-agent; submit a job with musterctl instead");
    return static_cast<int>(ExitCode::kUsage);
  }
  env.worker.set_job_id(Env("MUSTER_JOB_ID"));
  env.worker.set_generation(generation);
  env.worker.set_rank(rank);
  const std::unique_ptr<AgentLink> agent = NewAgentClient(socket);
  env.agent = agent.get();
  env.cores = Cores();
  env.exit_now = ExitNow;
  env.termination = &termination;
  return static_cast<int>(RunWorker(env));
}

}  // namespace
}  // namespace muster::worker

int main(int argc, char** argv) {
  CLI::App app(
      "One rank of a native training job.\n\nThis program is started by muster-agent, one process a slot; to train "
      "something, submit a job: musterctl submit --help\n\nExit codes: 0 done; 1 failed, a restart may help; 3 "
      "disowned by "
      "the agent; 64 not started by an agent; 75 lost a peer; 78 failed, a restart would fail again; 143 SIGTERM",
      "muster-worker");
  app.set_version_flag("--version", absl::StrCat("muster-worker ", muster::kVersion));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    // --help and --version come this way too.
    if (e.get_exit_code() == 0) return app.exit(e);
    muster::SetLogProgram("muster-worker");
    muster::LogError("%s; see muster-worker --help", e.what());
    return static_cast<int>(muster::worker::ExitCode::kUsage);
  }
  return muster::worker::Main();
}
