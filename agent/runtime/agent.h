#ifndef MUSTER_AGENT_RUNTIME_AGENT_H_
#define MUSTER_AGENT_RUNTIME_AGENT_H_

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "agent/core/core.h"
#include "agent/runtime/host_share.h"
#include "agent/runtime/links.h"
#include "agent/runtime/port_leases.h"
#include "agent/runtime/retention.h"
#include "agent/runtime/shims.h"
#include "common/clock.h"

namespace muster::agent {

struct AgentOptions {
  CoreOptions core;
  // Of the state folder.
  std::string workers_dir;
  std::string shim_program;
  std::string worker_program;
  absl::Duration orphan_after = absl::Seconds(30);
  int first_port = 20000;
  int last_port = 29999;
  // Where agents of this machine count their workers together (host_share.h).
  std::string share_dir = "/dev/shm/muster-agents";
};

// The agent: a loop around the core that turns what happens into events and actions into deeds. Post, LogShipped and
// Stop may be called from any thread.
class Agent {
 public:
  Agent(AgentOptions options, Clock* clock);
  ~Agent();

  // Before Run: takes over the workers of an earlier agent process.
  void Adopt(LogSink* logs);

  // Until the node has left (OK) or Stop was called (its status). The links must outlive it.
  absl::Status Run(SessionLink* session, WorkerCalls* calls, LogSink* logs);

  void Post(Event event);
  void LogShipped(const WorkerKey& worker);
  // Ends Run at once; workers stay as they are.
  void Stop(absl::Status status);

 private:
  struct Shipped {
    WorkerKey worker;
  };
  using Item = std::variant<Event, Shipped>;

  std::optional<Item> Next(absl::Time deadline);
  void Step(const Event& event);
  WorkerFolder Folder(const WorkerKey& worker) const;

  void Do(Send& action);
  void Do(PrepareGang& action);
  void Do(ReleasePort& action);
  void Do(StartWorker& action);
  void Do(SignalWorker& action);
  void Do(SaveWorker& action);
  void Do(ForgetWorker& action);
  void Do(Reply& action);
  void Do(PlanWorkers& action);
  void Do(ResetSession& action);
  void Do(Log& action);
  void Do(Left& action);

  const AgentOptions options_;
  Clock* const clock_;

  // The loop's alone.
  Core core_;
  PortLeases ports_;
  HostShare share_;
  std::unique_ptr<Retention> retention_;
  SessionLink* session_ = nullptr;
  WorkerCalls* calls_ = nullptr;
  LogSink* logs_ = nullptr;

  std::mutex mu_;
  std::condition_variable cv_;
  std::deque<Item> items_;               // guarded by mu_
  std::optional<absl::Status> stopped_;  // guarded by mu_

  // Last: its thread posts.
  std::unique_ptr<Shims> shims_;
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_RUNTIME_AGENT_H_
