// muster-agent: one a node. Parses flags and wires.

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "agent/flags.h"
#include "agent/rpc/log_shipper.h"
#include "agent/rpc/session_client.h"
#include "agent/rpc/worker_service.h"
#include "agent/runtime/agent.h"
#include "agent/runtime/inventory.h"
#include "agent/runtime/state_dir.h"
#include "agent/runtime/steady_clock.h"
#include "common/log.h"
#include "common/random_id.h"
#include "common/status_macros.h"
#include "common/version.h"

namespace muster::agent {
namespace {

// After the last worker of a node that leaves: how long its logs may take.
constexpr absl::Duration kLogsLimit = absl::Seconds(3);

absl::StatusOr<std::vector<v1::Slot>> FindSlots(const Flags& flags) {
  if (flags.gpus == "auto") {
    absl::StatusOr<std::vector<v1::Slot>> gpus = ListGpus();
    if (gpus.ok() && !gpus->empty()) return gpus;
    if (!gpus.ok() && !absl::IsNotFound(gpus.status())) {
      return absl::InternalError(
          absl::StrCat(gpus.status().message(), "; repair it, or start with --gpus none to offer CPU slots"));
    }
  }
  return CpuSlots(flags.cpu_slots);
}

absl::Status CheckProgram(const char* flag, const std::string& path) {
  if (::access(path.c_str(), X_OK) == 0) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat(flag, ": cannot run ", path, ": ", std::strerror(errno)));
}

absl::StatusOr<AgentOptions> OptionsOf(const Flags& flags, const StateDir& state) {
  AgentOptions options;
  MUSTER_RETURN_IF_ERROR(CheckProgram("--shim", flags.shim));
  MUSTER_ASSIGN_OR_RETURN(options.core.slots, FindSlots(flags));
  options.core.address = flags.address;
  if (options.core.address.empty()) {
    absl::StatusOr<std::string> address = LocalAddressTowards(flags.coordinator);
    if (!address.ok()) {
      return absl::NotFoundError(
          absl::StrCat("--coordinator: ", address.status().message(), "; correct it, or give this node's --address"));
    }
    options.core.address = *address;
  }
  options.core.node_id = flags.node_id;
  options.core.agent_uid = state.agent_uid();
  options.core.incarnation = RandomId();
  options.core.socket_path = state.socket();
  options.workers_dir = state.workers();
  options.shim_program = flags.shim;
  options.worker_program = flags.worker;
  options.orphan_after = flags.orphan_after;
  options.first_port = flags.first_port;
  options.last_port = flags.last_port;
  return options;
}

// Turns SIGTERM and SIGINT, blocked in all threads, into events.
class StopSignals {
 public:
  StopSignals(sigset_t signals, bool keep_workers, Agent* agent)
      : thread_([=, this] {
          int signal = 0;
          while (::sigwait(&signals, &signal) == 0 && !done_) {
            LogInfo("%s", absl::StrCat("got signal ", signal));
            if (keep_workers) {
              agent->Stop(absl::OkStatus());
            } else {
              agent->Post(LeaveAsked{});
            }
          }
        }) {}
  ~StopSignals() {
    done_ = true;
    ::pthread_kill(thread_.native_handle(), SIGTERM);
    thread_.join();
  }

 private:
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

absl::Status Main(const Flags& flags, sigset_t signals) {
  MUSTER_ASSIGN_OR_RETURN(const StateDir state, StateDir::Open(flags.state_dir));
  MUSTER_ASSIGN_OR_RETURN(const AgentOptions options, OptionsOf(flags, state));
  LogInfo("version %s, node %s at %s, %d slot(s), state in %s", kVersion, flags.node_id, options.core.address,
          options.core.slots.size(), state.path());

  SteadyClock clock;
  Agent agent(options, &clock);
  LogShipperOptions shipping;
  shipping.coordinator = flags.coordinator;
  shipping.node_id = flags.node_id;
  shipping.on_shipped = [&agent](const WorkerKey& worker) { agent.LogShipped(worker); };
  shipping.clock = &clock;
  LogShipper logs(std::move(shipping));
  agent.Adopt(&logs);
  const auto post = [&agent](Event event) { agent.Post(std::move(event)); };
  MUSTER_ASSIGN_OR_RETURN(const std::unique_ptr<WorkerServer> calls, WorkerServer::Start(state.socket(), post));
  SessionClientOptions session;
  session.coordinator = flags.coordinator;
  session.on_event = post;
  session.on_refused = [&agent](absl::Status status) { agent.Stop(std::move(status)); };
  session.clock = &clock;
  SessionClient client(std::move(session));
  StopSignals stop(signals, flags.keep_workers_on_exit, &agent);
  MUSTER_RETURN_IF_ERROR(agent.Run(&client, calls.get(), &logs));
  if (!flags.keep_workers_on_exit) logs.Flush(kLogsLimit);
  return absl::OkStatus();
}

}  // namespace
}  // namespace muster::agent

int main(int argc, char** argv) {
  muster::SetLogProgram("muster-agent");
  int exit_code = 0;
  const std::optional<muster::agent::Flags> flags = muster::agent::ParseFlags(argc, argv, &exit_code);
  if (!flags) return exit_code;
  // Before any thread: all inherit it.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  // Shims tell how their workers ended; how a shim ends is of no interest.
  ::signal(SIGCHLD, SIG_IGN);
  const absl::Status status = muster::agent::Main(*flags, signals);
  if (!status.ok()) {
    muster::LogError("%s", std::string(status.message()));
    return 1;
  }
  return 0;
}
