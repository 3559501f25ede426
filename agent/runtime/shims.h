#ifndef MUSTER_AGENT_RUNTIME_SHIMS_H_
#define MUSTER_AGENT_RUNTIME_SHIMS_H_

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "agent/core/actions.h"
#include "agent/core/events.h"
#include "agent/core/types.h"
#include "agent/runtime/worker_folder.h"
#include "agent/shim/records.h"
#include "common/clock.h"

namespace muster::agent {

struct ShimsOptions {
  std::string shim_program;
  std::string worker_program;
  // Tells this agent's workers from those of others, see KillStrays.
  std::string socket_path;
  absl::Duration orphan_after = absl::Seconds(30);
  // Gets WorkerStarted, WorkerExited and WorkerGone, in this order for each worker. Called from any thread.
  std::function<void(Event)> on_event;
  Clock* clock = nullptr;
};

// The shims of this node's workers: starts them, talks to them, finds those of an earlier agent process again.
// Thread-safe. Destroyed, it leaves shims and workers as they are.
class Shims {
 public:
  explicit Shims(ShimsOptions options);
  ~Shims();
  Shims(const Shims&) = delete;
  Shims& operator=(const Shims&) = delete;

  // Starts a shim, which starts the worker; what comes of it is an event. The folder has been created.
  void Start(const WorkerKey& worker, const WorkerFolder& folder, const LaunchPlan& plan);

  // Takes over the worker of an earlier agent process. False: nothing was ever started in this folder.
  bool Adopt(const WorkerKey& worker, const WorkerFolder& folder);

  // Nothing happens if the worker is gone.
  void Signal(const SignalWorker& signal);

 private:
  struct Shim {
    WorkerFolder folder;
    int fd = -1;
    bool started = false;
    bool exited = false;
    // The last command asked for its end.
    bool end_wanted = false;
  };

  void Watch();
  void Wake();
  // False: the connection has ended.
  bool Receive(const WorkerKey& worker, Shim& shim);
  void OnPacket(const WorkerKey& worker, Shim& shim, absl::string_view packet);
  void OnClosed(const WorkerKey& worker, Shim& shim);
  void OnExit(const WorkerKey& worker, Shim& shim, const shim::ExitRecord& record);
  void NotStarted(const WorkerKey& worker, const std::string& why);

  const ShimsOptions options_;
  int wake_fd_ = -1;

  std::mutex mu_;
  bool stop_ = false;                // guarded by mu_
  std::map<WorkerKey, Shim> shims_;  // guarded by mu_
  std::thread watcher_;
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_RUNTIME_SHIMS_H_
