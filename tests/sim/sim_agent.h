#ifndef MUSTER_TESTS_SIM_SIM_AGENT_H_
#define MUSTER_TESTS_SIM_SIM_AGENT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "proto/agent.pb.h"
#include "tests/sim/stream.h"
#include "tests/sim/world.h"

namespace muster::sim {

// A worker in its shim: outlives the agent, not the node.
struct SimWorker {
  v1::WorkerStatus status;
  v1::JobSpec spec;
  std::string job_uid;
  int world_size = 0;
  bool alive = true;
  // Dead already, or told to be.
  bool ending = false;
  // From the agent's last word.
  int64_t restore_step = 0;
  int64_t committed_step = 0;
  bool hold = false;
  // Rank 0: steps the coordinator has not acknowledged.
  std::vector<v1::StepMetrics> unacknowledged;
  // All steps are done; it waits for its last commit.
  bool done = false;
  // What it said of its failure; said again after a reconnect.
  std::optional<v1::WorkerFailure> failure;
};

// A node with its agent, faithful to proto/agent.proto: declarative desired state, registration with all it runs,
// lease, fencing. Agent and workers do in simulated time what the real ones take processes for.
class SimAgent {
 public:
  SimAgent(World* world, int number);

  const std::string& name() const { return name_; }
  bool node_up() const { return node_up_; }
  bool running() const { return process_up_; }
  bool partitioned() const { return partitioned_; }

  void StartNode();
  // Everything on it is gone; its peers and the coordinator see broken streams, or nothing at all.
  void KillNode(bool silently);
  void KillAgent();
  void StartAgent();
  void Partition();
  void Heal();
  void KillWorker();
  void BreakStream();

  // The coordinator's side of the network.
  void Receive(const std::shared_ptr<Stream>& stream, const v1::CoordinatorMessage& message);
  void Ended(const std::shared_ptr<Stream>& stream, const absl::Status& status);
  // The other end has closed: heard of after a while.
  void LearnOfClose(const std::shared_ptr<Stream>& stream, const absl::Status& status);

  // The mesh's side.
  using Key = std::tuple<std::string, uint64_t, int>;
  SimWorker* Find(const Key& key);
  void StepDone(const Key& key, const v1::StepMetrics& metrics);
  void Saved(const Key& key, const v1::ShardReport& shard);
  void AllStepsDone(const Key& key);
  // The worker lost a peer: it says so and exits.
  void PeerLost(const Key& key, const std::string& why);

  // The chance in a thousand that a PREPARE fails here.
  int prepare_error_per_mille = 0;

 private:
  void Tick();
  void Connect();
  void CloseStream(const std::string& why);
  void Send(v1::AgentMessage message);
  void SendStatus(const SimWorker& worker);
  v1::Register Registration();
  void OnDesired(const v1::DesiredState& desired);
  void Prepare(const std::string& job, uint64_t generation);
  void Launch(const v1::GangAssignment& gang);
  void Stop(const v1::GangAssignment& gang);
  void Direct(const v1::GangAssignment& gang);
  void OnJoined(const v1::GangJoined& joined);
  void Kill(const Key& key, bool by_agent, bool forget);
  void Exit(const Key& key, int code, int signal, bool by_agent);
  const v1::GangAssignment* Assigned(const std::string& job, uint64_t generation) const;
  // Runs after `d` if the agent's process is still the same one by then.
  void Later(absl::Duration d, std::function<void()> f);

  World* const world_;
  const std::string name_;
  const int number_;
  bool node_up_ = false;
  bool process_up_ = false;
  bool partitioned_ = false;
  // Which start of the agent, and of the node.
  uint64_t life_ = 0;
  uint64_t node_life_ = 0;
  std::shared_ptr<Stream> stream_;
  absl::Time last_heard_;
  absl::Time next_heartbeat_;
  absl::Time next_try_;
  uint64_t heartbeat_ = 0;
  v1::DesiredState desired_;
  std::map<std::pair<std::string, uint64_t>, v1::GangPrepared> prepared_;
  std::set<std::pair<std::string, uint64_t>> preparing_;
  // On the node, not in the agent.
  std::map<Key, SimWorker> workers_;
};

}  // namespace muster::sim

#endif  // MUSTER_TESTS_SIM_SIM_AGENT_H_
