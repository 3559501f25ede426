#ifndef MUSTER_AGENT_CORE_CORE_H_
#define MUSTER_AGENT_CORE_CORE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "agent/core/actions.h"
#include "agent/core/events.h"
#include "agent/core/types.h"

namespace muster::agent {

struct CoreOptions {
  std::string node_id;
  std::string agent_uid;
  std::string incarnation;
  // Where other nodes reach this node's workers.
  std::string address;
  std::vector<v1::Slot> slots;
  // Of the worker service, for the workers' environment.
  std::string socket_path;

  // Until a coordinator names its own.
  absl::Duration lease = absl::Seconds(3);
  absl::Duration heartbeat_interval = absl::Milliseconds(500);
  // How long workers go on while the coordinator's host refuses connections.
  absl::Duration keep_while_refused = absl::Minutes(10);
  // A worker that lives this long after SIGKILL is stuck in the kernel.
  absl::Duration kill_limit = absl::Seconds(10);
  absl::Duration join_limit = absl::Minutes(5);
};

// The agent's decisions: desired state against observed, with no thread, lock, clock, socket, file or process in it.
// All it says to the coordinator follows from its state, so that a new session starts by saying all of it again.
//
// The own lease counts from the sending of the newest heartbeat the coordinator has answered, and so runs out before
// the coordinator's, which counts from that heartbeat's arrival.
class Core {
 public:
  Core(CoreOptions options, absl::Time now);

  std::vector<Action> Step(const Event& event, absl::Time now);

  // When Step(TimePassed) is due next; InfiniteFuture if never.
  absl::Time NextDeadline() const;

 private:
  //  none -> kTerm (lead) -> kTermGroup -> killed
  enum class StopStage { kNone, kTerm, kTermGroup };

  struct Worker {
    v1::WorkerStatus status;
    std::optional<v1::WorkerFailure> failure;
    // Its Join was answered.
    bool joined = false;
    bool gone = false;
    // SIGKILL was sent; InfiniteFuture: not yet.
    absl::Time killed_at = absl::InfiniteFuture();
    // Why the agent killed it by itself; empty: it did not.
    std::string own_reason;
    StopStage stop = StopStage::kNone;
    absl::Time stop_began;

    bool exited() const { return status.state() == v1::EXITED; }
  };

  enum class Preparation { kNone, kAsked, kDone };

  struct ParkedJoin {
    int rank = 0;
    absl::Time deadline;
  };

  struct Gang {
    v1::GangAssignment assignment;
    Preparation preparation = Preparation::kNone;
    v1::GangPrepared prepared;
    bool port_held = false;
    std::optional<v1::GangJoined> joined;
    std::map<CallId, ParkedJoin> joins;
    // Of rank 0, by step.
    std::map<int64_t, v1::StepMetrics> unacked;
    std::optional<v1::CheckpointPublished> published;

    GangKey key() const { return {JobId(assignment.job_id()), Generation(assignment.generation())}; }
    const v1::LocalWorker* FindRank(int rank) const;
  };

  // core.cc
  void On(const TimePassed&);
  void On(const LeaveAsked&);
  void Advance();
  void CheckLease();
  void Heartbeat();
  absl::Time LeaseEnd() const;

  // session.cc
  void On(const SessionOpened&);
  void On(const SessionLost& event);
  void On(const CoordinatorRefused&);
  void On(const CoordinatorSaid& event);
  void OnWelcome(const v1::Welcome& welcome);
  void OnHeartbeatAck(uint64_t seq);
  void OnJoined(const v1::GangJoined& joined);
  void OnProgressAck(const v1::ProgressAck& ack);
  void Tell(v1::AgentMessage message);
  void TellWorker(const Worker& worker);
  void TellFailure(const v1::WorkerFailure& failure);
  void TellProgress(const Gang& gang);
  v1::Register Registration() const;
  bool HasMoreToSay(const Worker& worker) const;

  // gangs.cc
  void OnDesired(const v1::DesiredState& desired);
  void On(const GangReady& event);
  void DropGang(Gang& gang, const std::string& why);
  void AdvanceGang(Gang& gang);
  void AdvancePrepare(Gang& gang);
  void AdvanceLaunch(Gang& gang);
  void AdvanceStop(Gang& gang);
  void TellPrepared(Gang& gang, int port, const std::string& error);
  void PlanCount();
  // Workers that must be dead before `gang` starts.
  std::vector<const Worker*> Blockers(const Gang& gang) const;
  const v1::Slot* FindSlot(int index) const;

  // workers.cc
  void On(const WorkerFound& event);
  void On(const WorkerStarted& event);
  void On(const WorkerExited& event);
  void On(const WorkerGone& event);
  void FenceWorkers();
  void Stop(const WorkerKey& key, Worker& worker, absl::Duration grace);
  // Of workers that are being stopped; when it has something to do next.
  absl::Time NextStop(const Worker& worker, absl::Duration grace) const;
  void Kill(const WorkerKey& key, Worker& worker, bool wanted);
  void Save(const WorkerKey& key, const Worker& worker);
  absl::Duration GraceOf(const WorkerKey& key) const;
  const Gang* GangOf(const WorkerKey& key) const;

  // calls.cc
  void On(const HelloCalled& event);
  void On(const JoinCalled& event);
  void On(const ReportCalled& event);
  void On(const CallEnded& event);
  // The caller's gang and worker; UNAVAILABLE while no desired state is known.
  absl::Status Find(const v1::WorkerRef& ref, Gang** gang, Worker** worker);
  void AnswerJoins(Gang& gang);
  void ExpireJoins(Gang& gang);
  void AnswerParked();

  void Do(Action action) { actions_.push_back(std::move(action)); }
  void Say(Severity severity, std::string text) { Do(Log{severity, std::move(text)}); }

  CoreOptions options_;

  // Of the present Step.
  absl::Time now_;
  std::vector<Action> actions_;

  bool session_open_ = false;
  bool welcomed_ = false;
  absl::Time registered_at_;
  uint64_t next_seq_ = 1;
  // When each heartbeat without an answer was sent, by its seq.
  std::map<uint64_t, absl::Time> heartbeats_;
  absl::Time next_heartbeat_ = absl::InfiniteFuture();
  absl::Duration lease_;
  absl::Duration heartbeat_interval_;
  // The coordinator knew of this node at this time, or later.
  absl::Time known_at_;
  absl::Time refused_at_ = absl::InfinitePast();
  bool lease_over_ = false;

  bool desired_known_ = false;
  // Of this session; a new coordinator process may count anew.
  uint64_t revision_ = 0;
  std::map<JobId, Gang> gangs_;
  std::map<WorkerKey, Worker> workers_;
  // Hellos and joins that came before any desired state.
  std::map<CallId, std::variant<HelloCalled, JoinCalled>> parked_;
  int planned_ = 0;
  bool leaving_ = false;
  bool left_ = false;
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_CORE_CORE_H_
