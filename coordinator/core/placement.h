#ifndef MUSTER_COORDINATOR_CORE_PLACEMENT_H_
#define MUSTER_COORDINATOR_CORE_PLACEMENT_H_

#include <string>
#include <vector>

#include "coordinator/core/state.h"

namespace muster::coordinator {

// Where a job could run now. Pure.

// A node with room for slots_per_node workers of the job's device, and the slots they would take.
struct Candidate {
  NodeId node;
  std::vector<int> slots;
  // Free slots of the device beyond these.
  int spare = 0;
};

// READY nodes not in quarantine for this job. Slots of the job's own gang count as free. By node id.
std::vector<Candidate> CandidatesFor(const State& state, const Job& job);

// The best nodes.max of them, by node rank: a node that the job ran on before keeps its rank where it can, newcomers
// take the holes; among newcomers those with the least to spare first, then by node id.
std::vector<v1::PlacedNode> Place(const Job& job, std::vector<Candidate> candidates);

// The nodes that are there would do for the job if it had them to itself.
bool CouldRun(const State& state, const Job& job);

// Slots of a node taken by gangs, ascending.
std::vector<int> SlotsInUse(const State& state, const NodeId& node);

// "needs 2 nodes with 1 free CPU slot each; 1 of 3 nodes has one: n1; n2 is lost; n3 is busy with x-1"
std::string DescribeShortage(const State& state, const Job& job, const std::vector<Candidate>& candidates);

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_CORE_PLACEMENT_H_
