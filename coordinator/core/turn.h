#ifndef MUSTER_COORDINATOR_CORE_TURN_H_
#define MUSTER_COORDINATOR_CORE_TURN_H_

#include <set>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "coordinator/core/core.h"
#include "coordinator/core/state.h"

namespace muster::coordinator {

// What an event says beyond its type and message.
struct EventDetail {
  NodeId node;
  int rank = -1;
  int64_t step = 0;
};

// One Step: the state it changes and the effects it collects. Operations change the state and mark what they touched;
// Finish writes each touched record once and sends each touched node its desired state once.
class Turn {
 public:
  Turn(const CoreOptions& options, State* state, absl::Time now, Effects* effects)
      : options(options), state(*state), now(now), effects(*effects) {}

  const CoreOptions& options;
  State& state;
  const absl::Time now;
  Effects& effects;
  // Placement and growth must be looked at again.
  bool replan = false;

  void Touch(Job& job);
  void TouchGeneration(Job& job, uint64_t generation);
  void TouchCheckpoint(Job& job, int64_t step);
  void TouchMetrics(Job& job, int64_t block);
  void TouchCluster() { cluster_ = true; }
  void Touch(const NodeId& node) { nodes_.insert(node); }
  // Removes the record, from the state too.
  void EraseCheckpoint(Job& job, int64_t step);
  void EraseGeneration(Job& job, uint64_t generation);

  // Adds to the job's event log.
  void AddEvent(Job& job, absl::string_view type, const std::string& message, const EventDetail& detail = {});

  // The node's desired state has changed.
  void Tell(const NodeId& node) { tell_.insert(node); }
  void TellGang(const Job& job);
  // To a node with a session; nothing otherwise.
  void Send(const NodeId& node, v1::CoordinatorMessage message);

  void Finish();

 private:
  bool cluster_ = false;
  std::set<NodeId> nodes_;
  std::set<JobId> jobs_;
  std::set<std::pair<JobId, uint64_t>> generations_;
  std::set<std::pair<JobId, int64_t>> checkpoints_;
  std::set<std::pair<JobId, int64_t>> metrics_;
  std::set<NodeId> tell_;
};

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_CORE_TURN_H_
