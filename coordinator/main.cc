#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/file_system.h"
#include "common/log.h"
#include "common/version.h"
#include "coordinator/flags.h"
#include "coordinator/rpc/server.h"
#include "coordinator/storage/sqlite_state_store.h"

namespace muster::coordinator {
namespace {

// What stops the process: the signals that ask for it, or an error that it cannot go on with.
class StopRequest {
 public:
  // Before any thread is started, so that all of them inherit the mask.
  StopRequest() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGTERM);
    sigaddset(&signals_, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    // A peer or a pipe that is gone is an error of a call, not of the process.
    signal(SIGPIPE, SIG_IGN);
  }

  void Fail(const absl::Status& status) {
    {
      std::lock_guard<std::mutex> lock(mu_);
      status_ = status;
    }
    ::kill(::getpid(), SIGTERM);
  }

  absl::Status Wait() {
    int signal = 0;
    sigwait(&signals_, &signal);
    std::lock_guard<std::mutex> lock(mu_);
    return status_;
  }

 private:
  sigset_t signals_;
  std::mutex mu_;
  absl::Status status_;  // guarded by mu_
};

absl::Status Run(const Flags& flags) {
  StopRequest stop;
  if (absl::Status made = FileSystem::Posix()->CreateDirs(flags.data_dir); !made.ok()) {
    return absl::Status(made.code(), absl::StrCat("--data_dir: ", absl::string_view(made.message())));
  }
  absl::StatusOr<std::unique_ptr<StateStore>> store = OpenSqliteStateStore(flags.data_dir);
  if (!store.ok()) return store.status();

  ServerOptions options;
  options.listen = flags.listen;
  options.core.lease = flags.lease;
  options.core.heartbeat_interval = flags.heartbeat;
  options.core.gather_window = flags.gather_window;
  options.core.diagnose_window = flags.diagnose_window;
  options.logs.dir = flags.data_dir + "/logs";
  options.logs.max_file_bytes = flags.log_limit_mb << 20;
  options.on_fatal = [&stop](const absl::Status& status) { stop.Fail(status); };
  absl::StatusOr<std::unique_ptr<CoordinatorServer>> server = CoordinatorServer::Start(options, store->get());
  if (!server.ok()) return server.status();  // INVALID_ARGUMENT: of --listen

  LogInfo("version %s serves on %s (port %d) with its state in %s", kVersion, flags.listen, (*server)->port(),
          flags.data_dir);
  if (!flags.port_file.empty()) {
    absl::Status written =
        WriteFileAtomically(FileSystem::Posix(), flags.port_file, absl::StrCat((*server)->port(), "\n"));
    if (!written.ok()) return absl::Status(written.code(), absl::StrCat("--port_file: ", written.message()));
  }
  const absl::Status status = stop.Wait();
  LogInfo("stops");
  (*server)->Stop();
  return status;
}

}  // namespace
}  // namespace muster::coordinator

int main(int argc, char** argv) {
  muster::SetLogProgram("coordinator");
  const absl::StatusOr<muster::coordinator::Flags> flags = muster::coordinator::ParseFlags(argc, argv);
  if (!flags.ok()) {
    std::fprintf(stderr, "muster-coordinator: %s\n", std::string(flags.status().message()).c_str());
    return 2;
  }
  if (!flags->print.empty()) {
    std::fputs(flags->print.c_str(), stdout);
    return 0;
  }
  const absl::Status status = muster::coordinator::Run(*flags);
  if (!status.ok()) {
    std::fprintf(stderr, "muster-coordinator: %s\n", std::string(status.message()).c_str());
    return absl::IsInvalidArgument(status) ? 2 : 1;
  }
  return 0;
}
