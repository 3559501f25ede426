#ifndef MUSTER_COORDINATOR_CORE_FAILURE_H_
#define MUSTER_COORDINATOR_CORE_FAILURE_H_

#include <string>
#include <vector>

#include "coordinator/core/turn.h"

namespace muster::coordinator {

// Whose restart budget a failure draws on.
enum class Blame {
  // The program failed by itself.
  kUser,
  // Killed from outside, its node died, its port was taken.
  kInfrastructure,
  // Nothing ran yet, and what failed is kept out of the next try: draws on no budget.
  kNobody,
};

struct Failure {
  Blame blame = Blame::kInfrastructure;
  // A restart would fail again.
  bool permanent = false;
  // Start again without back-off.
  bool at_once = false;
  v1::GenerationCause cause = v1::CAUSE_WORKER_FAILED;
  // In words, e.g. "rank 1 on n2 was killed by signal 9 (Killed)".
  std::string what;
  absl::Time detected;
  v1::FailureReport report;
};

// Filled with what is known of the worker's end, but for `detected`.
Failure FailureOf(const Worker& worker, uint64_t generation);

// The gang ends: the generation is closed, its nodes are told, a budget is drawn on. The job waits for its next
// generation (decided in the same Step where it can be), or is FAILED.
void FailGang(Turn& turn, Job& job, const Failure& failure);

// A worker said why it is about to exit.
void OnWorkerFailure(Turn& turn, Job& job, Worker& worker, const v1::WorkerFailure& failure);
// A worker of the current generation has exited.
void OnWorkerExit(Turn& turn, Job& job, Worker& worker);
// The agent came back and does not know a worker that it was told to run.
void OnWorkerMissing(Turn& turn, Job& job, Worker& worker);

// A stream broke: with peers that lost theirs, the node is lost.
void OnNodeUnreachable(Turn& turn, const NodeId& node);
struct LostNode {
  NodeId node;
  std::string why;
  absl::Time detected;
};
void LoseNodes(Turn& turn, const std::vector<LostNode>& lost);

// gang.diagnose_until has come.
void OnDiagnoseWindowOver(Turn& turn, Job& job);

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_CORE_FAILURE_H_
