#ifndef MUSTER_TESTS_SIM_SIM_COORDINATOR_H_
#define MUSTER_TESTS_SIM_SIM_COORDINATOR_H_

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/core/core.h"
#include "tests/sim/invariants.h"
#include "tests/sim/stream.h"
#include "tests/sim/world.h"

namespace muster::sim {

// The real core and an in-memory store, with a shell that commits in groups, crashes anywhere and starts again.
class SimCoordinator {
 public:
  using Reply = std::function<void(const absl::StatusOr<v1::JobView>&)>;

  explicit SimCoordinator(World* world) : world_(world), invariants_(world) {}

  bool up() const { return core_ != nullptr; }
  void Start();
  // What is stepped but not committed is lost; with `commit_first` it is committed, and only its messages are lost.
  void Crash(bool commit_first);
  // Crashes with the next decision: a generation or a checkpoint changes.
  void CrashAtDecision(std::function<void()> crashed) { at_decision_ = std::move(crashed); }
  // Stands still: nothing is read, no timer fires.
  void Pause();
  void Resume();

  // From the agents' side of the network; `stream` must be open at the coordinator's end.
  void Connect(std::shared_ptr<Stream> stream, SimAgent* agent, v1::Register registration);
  void Said(const std::shared_ptr<Stream>& stream, v1::AgentMessage message);
  void Closed(const std::shared_ptr<Stream>& stream, const std::string& why);
  // Answers are lost in a crash.
  void Submit(v1::SubmitJobRequest submit, Reply reply);
  void Cancel(const std::string& job, Reply reply);

  SessionId NewSession() { return SessionId(++last_session_); }
  const coordinator::State& state() const { return core_->state(); }
  const std::map<std::string, std::string>& records() const { return records_; }
  // The records alone give the same state.
  void CheckReload();

 private:
  struct Connection {
    std::shared_ptr<Stream> stream;
    SimAgent* agent;
  };
  void Take(coordinator::Event event);
  void Step(const coordinator::Event& event);
  void Commit();
  void Apply(const coordinator::Effects& effects);
  void ArmTimer();
  void LogEvents(const coordinator::Effects& effects);

  World* const world_;
  Invariants invariants_;
  std::unique_ptr<coordinator::Core> core_;
  std::map<std::string, std::string> records_;
  // Stepped, not committed.
  std::vector<coordinator::Effects> pending_;
  bool paused_ = false;
  std::function<void()> at_decision_;
  std::deque<coordinator::Event> inbox_;
  std::map<SessionId, Connection> connections_;
  std::map<RequestId, Reply> requests_;
  // Which start of the process; what an older one planned does not happen.
  uint64_t life_ = 0;
  uint64_t timer_ = 0;
  uint64_t last_session_ = 0;
  uint64_t last_request_ = 0;
};

}  // namespace muster::sim

#endif  // MUSTER_TESTS_SIM_SIM_COORDINATOR_H_
