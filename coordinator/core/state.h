#ifndef MUSTER_COORDINATOR_CORE_STATE_H_
#define MUSTER_COORDINATOR_CORE_STATE_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/ids.h"
#include "proto/agent.pb.h"
#include "proto/checkpoint.pb.h"
#include "proto/ctl.pb.h"
#include "proto/store.pb.h"

namespace muster::coordinator {

// What the coordinator knows. `record`s (and generations, checkpoints, events, metrics) are durable; the rest is
// learned again from the agents after a restart.

// v1::NodeState, see proto/ctl.proto; StateOf tells it.
struct Node {
  v1::StoredNode record;
  std::optional<SessionId> session;
  std::string incarnation;
  absl::Time last_seen = absl::InfinitePast();
  // Meaningless once lost.
  absl::Time lease_until = absl::InfinitePast();
  // Of the last broken stream.
  absl::Time disconnected_at = absl::InfinitePast();
  std::string disconnect_reason;
  // Of the newest DesiredState sent.
  uint64_t revision = 0;
};

// v1::WorkerState; UNSPECIFIED: not heard of yet.
struct Worker {
  int rank = 0;
  int local_rank = 0;
  int slot = 0;
  NodeId node;
  v1::WorkerState state = v1::WORKER_STATE_UNSPECIFIED;
  int pid = 0;
  std::string join_blob;
  // With EXITED.
  v1::ExitInfo exit;
  // What it said before its exit.
  std::optional<v1::WorkerFailure> failure;
  // While the gang stops: nobody will tell of its exit, its node is lost or does not know it.
  bool gone = false;
};

//   kPreparing --all agents prepared--> kJoining --all workers joined (a command: started)--> kRunning
//       |                                  |                                                     |
//       +------------- failure, growth, all exited 0: the gang is dropped -----------------------+
//       +------------- cancel --> kStopping --all exited, or nodes lost, or time is over--> dropped
enum class GangState { kPreparing, kJoining, kRunning, kStopping };

// The workers of a job's current generation.
struct Gang {
  uint64_t generation = 0;
  GangState state = GangState::kPreparing;
  // By node rank.
  std::vector<NodeId> nodes;
  // By rank.
  std::vector<Worker> workers;
  // Nodes that are prepared, and their ports.
  std::map<NodeId, int> prepared;
  // When `state` has lasted too long.
  absl::Time deadline = absl::InfiniteFuture();
  // A worker told of a failure whose cause is not known yet: until when to look for it.
  absl::Time diagnose_until = absl::InfiniteFuture();
  // The first sign of a failure.
  absl::Time evidence_at = absl::InfiniteFuture();
  // The workers are told to stop at the next checkpoint.
  bool hold = false;
  int64_t newest_step = 0;
  // Reports of steps that are not complete yet: step -> rank -> report.
  std::map<int64_t, std::map<int, v1::ShardReport>> shards;
};

// Why a job without a gang waits, and what its next generation will say.
struct Waiting {
  v1::GenerationCause cause = v1::CAUSE_FIRST_START;
  std::string why;
  absl::Time detected = absl::InfinitePast();
  // Place it as soon as nodes.min fit: it has waited, or is to recover quickly.
  bool at_once = false;
  // InfiniteFuture: not gathering.
  absl::Time gather_until = absl::InfiniteFuture();
  // When time alone may let it start.
  absl::Time check_at = absl::InfiniteFuture();
  // How many nodes it had before, for the words of the decision; 0: none.
  int nodes_before = 0;
};

struct Quarantine {
  absl::Time until;
  std::string why;
};

struct Job {
  // The number in its id; submitted order.
  uint64_t number = 0;
  v1::StoredJob record;
  std::map<uint64_t, v1::StoredGeneration> generations;
  std::map<int64_t, v1::StoredCheckpoint> checkpoints;
  std::map<uint64_t, v1::StoredEvent> events;
  // By block.
  std::map<int64_t, v1::StoredMetrics> metrics;

  std::optional<Gang> gang;
  // While PENDING.
  Waiting waiting;
  // Nodes on which this job could not be prepared.
  std::map<NodeId, Quarantine> avoided;
  // A growth is possible once the cool-down is over.
  absl::Time grow_at = absl::InfiniteFuture();
};

struct State {
  v1::StoredCluster cluster;
  std::map<NodeId, Node> nodes;
  std::map<JobId, Job> jobs;
  // Submitted order.
  std::map<uint64_t, JobId> jobs_by_number;
  // Those of them that are not finished. Whoever may finish a job while walking them walks a copy.
  std::map<uint64_t, JobId> unfinished;
  std::map<std::string, JobId> jobs_by_token;
  std::map<SessionId, NodeId> sessions;
};

v1::NodeState StateOf(const Node& node);
bool IsTrain(const Job& job);
// Of the job's current gang, which must be there.
v1::StoredGeneration& CurrentGeneration(Job& job);
const v1::StoredGeneration& CurrentGeneration(const Job& job);
bool IsFinished(v1::JobState state);
bool GangHasNode(const Gang& gang, const NodeId& node);
bool ExitedWell(const Worker& worker);
int64_t MetricsBlock(int64_t step);
// The newest checkpoint to start from; null: from the beginning.
const v1::StoredCheckpoint* NewestCheckpoint(const Job& job);
// Committed, manifest not on disk yet; null if none. The newest first: it is what a restart would start from.
const v1::StoredCheckpoint* CheckpointToPublish(const Job& job);

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_CORE_STATE_H_
