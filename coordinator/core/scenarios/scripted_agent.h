#ifndef MUSTER_COORDINATOR_CORE_SCENARIOS_SCRIPTED_AGENT_H_
#define MUSTER_COORDINATOR_CORE_SCENARIOS_SCRIPTED_AGENT_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/core/events.h"
#include "coordinator/core/scenarios/command.h"

namespace muster::coordinator {

// A node's agent that does only what a scenario says, and remembers what it was told and has said, so that it can
// register again with what it runs.
class ScriptedAgent {
 public:
  explicit ScriptedAgent(const std::string& node = "") : node_(node) {}

  std::optional<SessionId> session;
  // Sends no heartbeats.
  bool mute = false;

  void Receive(const v1::CoordinatorMessage& message);

  // register n1 slots=2 gpus=1 uid=U incarnation=I address=A protocol=P [bare: with nothing that it runs]
  v1::Register Registration(const Command& command, int number) const;
  // Messages of "prepared", "started", "joined", "running", "exit", "fails", "progress", "shard", "published". Options
  // job=, generation= and rank= pick among what the agent runs, or name what it does not.
  std::vector<v1::AgentMessage> Say(const Command& command);

 private:
  struct Place {
    std::string job;
    std::string uid;
    uint64_t generation;
    int rank;
    int local_rank;
    int slot;
    int world_size;
  };
  std::vector<Place> Places(const Command& command) const;
  v1::WorkerStatus* StatusOf(const Place& place);
  v1::ShardReport Shard(const Command& command, const Place& place) const;

  std::string node_;
  v1::DesiredState desired_;
  std::map<std::pair<std::string, uint64_t>, v1::GangPrepared> prepared_;
  std::map<std::pair<std::string, int>, v1::WorkerStatus> workers_;
};

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_CORE_SCENARIOS_SCRIPTED_AGENT_H_
