#include "coordinator/core/gang.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/proto_time.h"
#include "coordinator/core/checkpoint.h"
#include "coordinator/core/failure.h"
#include "coordinator/core/lifecycle.h"
#include "coordinator/core/progress.h"
#include "coordinator/core/words.h"

namespace muster::coordinator {
namespace {

// How long a job keeps off a node on which it could not be prepared.
constexpr absl::Duration kQuarantine = absl::Seconds(60);
constexpr size_t kMaxGenerations = 1'000;

void Avoid(Turn& turn, Job& job, const NodeId& node, const std::string& why) {
  const absl::Time until = turn.now + kQuarantine;
  job.avoided[node] = {until, why};
  turn.AddEvent(job, "NodeAvoided",
                absl::StrCat(node.value(), " is not used for ", absl::FormatDuration(kQuarantine), ": ", why),
                {.node = node});
}

std::vector<Worker> WorkersOf(const v1::StoredGeneration& generation) {
  std::vector<Worker> workers(generation.world_size());
  for (const v1::PlacedNode& node : generation.nodes()) {
    for (const v1::LocalWorker& local : node.workers()) {
      Worker& worker = workers[local.rank()];
      worker.rank = local.rank();
      worker.local_rank = local.local_rank();
      worker.slot = local.slot();
      worker.node = NodeId(node.node_id());
    }
  }
  return workers;
}

Gang GangOf(const v1::StoredGeneration& generation) {
  Gang gang;
  gang.generation = generation.generation();
  for (const v1::PlacedNode& node : generation.nodes()) gang.nodes.emplace_back(node.node_id());
  gang.workers = WorkersOf(generation);
  return gang;
}

void Launch(Turn& turn, Job& job) {
  Gang& gang = *job.gang;
  v1::StoredGeneration& generation = CurrentGeneration(job);
  const NodeId& master = gang.nodes.front();
  generation.set_master_addr(turn.state.nodes.at(master).record.address());
  generation.set_master_port(gang.prepared.at(master));
  *generation.mutable_timeline()->mutable_ranks_given() = ToProto(turn.now);
  turn.TouchGeneration(job, gang.generation);
  gang.state = GangState::kJoining;
  gang.deadline = turn.now + turn.options.join_timeout;
  SetJobState(turn, job, v1::JOB_STARTING,
              absl::StrCat("generation ", gang.generation, ": waiting for ", Count(gang.workers.size(), "worker"),
                           " to ", IsTrain(job) ? "join" : "start"));
  turn.AddEvent(job, "RanksGiven",
                absl::StrCat(Count(gang.nodes.size(), "node"), " prepared; rank 0 is on ", master.value()));
  turn.TellGang(job);
}

v1::CoordinatorMessage JoinedMessage(const Job& job) {
  v1::CoordinatorMessage message;
  message.mutable_joined()->set_job_id(job.record.job_id());
  message.mutable_joined()->set_generation(job.gang->generation);
  for (const Worker& worker : job.gang->workers) message.mutable_joined()->add_blobs(worker.join_blob);
  return message;
}

bool HasJoined(const Job& job, const Worker& worker) {
  if (IsTrain(job)) return worker.state >= v1::JOINING && !worker.join_blob.empty();
  return worker.state >= v1::RUNNING;
}

void MaybeUp(Turn& turn, Job& job) {
  Gang& gang = *job.gang;
  if (gang.state != GangState::kJoining) return;
  for (const Worker& worker : gang.workers) {
    if (!HasJoined(job, worker)) return;
  }
  gang.state = GangState::kRunning;
  gang.deadline = absl::InfiniteFuture();
  v1::StoredGeneration& generation = CurrentGeneration(job);
  *generation.mutable_timeline()->mutable_workers_up() = ToProto(turn.now);
  turn.TouchGeneration(job, gang.generation);
  turn.AddEvent(job, "WorkersUp", absl::StrCat(Count(gang.workers.size(), "worker"), " up"));
  if (IsTrain(job)) {
    for (const NodeId& node : gang.nodes) turn.Send(node, JoinedMessage(job));
    SetJobState(turn, job, v1::JOB_STARTING,
                absl::StrCat("generation ", gang.generation, ": all workers have joined; waiting for the first step"));
  } else {
    SetJobState(
        turn, job, v1::JOB_RUNNING,
        absl::StrCat("running ", Count(gang.workers.size(), "worker"), " on ", Count(gang.nodes.size(), "node")));
  }
}

}  // namespace

void StartGeneration(Turn& turn, Job& job, std::vector<v1::PlacedNode> nodes, const std::string& reason) {
  const uint64_t before = job.record.generation();
  job.record.set_generation(before + 1);
  DropUnpublished(turn, job);

  v1::StoredGeneration generation;
  generation.set_job_id(job.record.job_id());
  generation.set_generation(before + 1);
  generation.set_cause(job.waiting.cause);
  generation.set_reason(reason);
  job.record.clear_last_nodes();
  int world_size = 0;
  for (v1::PlacedNode& node : nodes) {
    world_size += node.workers_size();
    job.record.add_last_nodes(node.node_id());
    *generation.add_nodes() = std::move(node);
  }
  generation.set_world_size(world_size);
  if (const v1::StoredCheckpoint* restore = NewestCheckpoint(job)) generation.set_restore_step(restore->step());
  generation.set_steps_redone(std::max<int64_t>(0, NewestStepOf(job, before) - generation.restore_step()));
  const absl::Time detected = job.waiting.detected == absl::InfinitePast() ? turn.now : job.waiting.detected;
  *generation.mutable_timeline()->mutable_detected() = ToProto(detected);
  *generation.mutable_timeline()->mutable_decided() = ToProto(turn.now);

  *job.record.mutable_gang_changed_at() = ToProto(turn.now);
  job.record.clear_retry_at();
  job.gang = GangOf(generation);
  job.gang->deadline = turn.now + turn.options.prepare_timeout;
  job.waiting = {};
  job.generations[before + 1] = std::move(generation);
  turn.TouchGeneration(job, before + 1);
  while (job.generations.size() > kMaxGenerations) turn.EraseGeneration(job, job.generations.begin()->first);
  SetJobState(
      turn, job, v1::JOB_STARTING,
      absl::StrCat("generation ", before + 1, ": waiting for ", Count(job.gang->nodes.size(), "node"), " to prepare"));
  turn.AddEvent(job, "GenerationDecided", reason, {.step = CurrentGeneration(job).restore_step()});
  turn.TellGang(job);
}

Gang RebuildGang(const Job& job, const CoreOptions& options, absl::Time now) {
  const v1::StoredGeneration& generation = job.generations.at(job.record.generation());
  Gang gang = GangOf(generation);
  if (generation.timeline().has_workers_up()) {
    gang.state = GangState::kRunning;
  } else if (generation.timeline().has_ranks_given()) {
    gang.state = GangState::kJoining;
    gang.deadline = now + options.join_timeout;
  } else {
    gang.deadline = now + options.prepare_timeout;
  }
  gang.newest_step = NewestStepOf(job, gang.generation);
  return gang;
}

void OnPrepared(Turn& turn, Job& job, const NodeId& node, const v1::GangPrepared& prepared) {
  Gang& gang = *job.gang;
  if (gang.state != GangState::kPreparing) return;
  if (!prepared.error().empty()) {
    Avoid(turn, job, node, prepared.error());
    Failure failure;
    failure.blame = Blame::kNobody;
    failure.cause = v1::CAUSE_RETRY;
    failure.what = absl::StrCat("node ", node.value(), " cannot prepare the gang: ", prepared.error());
    failure.detected = turn.now;
    failure.report.set_generation(gang.generation);
    failure.report.set_rank(-1);
    failure.report.set_node_id(node.value());
    failure.report.set_message(failure.what);
    FailGang(turn, job, failure);
    return;
  }
  gang.prepared[node] = prepared.master_port();
  if (gang.prepared.size() == gang.nodes.size()) Launch(turn, job);
}

void OnWorkerStatus(Turn& turn, Job& job, const NodeId& node, const v1::WorkerStatus& status) {
  Gang& gang = *job.gang;
  if (status.rank() < 0 || status.rank() >= static_cast<int>(gang.workers.size())) return;
  Worker& worker = gang.workers[status.rank()];
  if (worker.node != node || worker.state == v1::EXITED) return;
  if (gang.state == GangState::kPreparing) return;  // nobody was told to start it
  // What is said again, or late, never leads back.
  if (status.state() > worker.state) {
    worker.state = status.state();
    turn.effects.changed.insert(JobId(job.record.job_id()));
  }
  if (status.pid() != 0) worker.pid = status.pid();
  if (!status.join_blob().empty()) worker.join_blob = status.join_blob();
  const uint64_t generation = gang.generation;
  // Its last shard may complete a checkpoint even if it has exited since.
  if (status.has_shard()) OnShard(turn, job, worker, status.shard());
  if (!job.gang.has_value() || job.gang->generation != generation) return;
  if (status.state() == v1::EXITED) {
    worker.exit = status.exit();
    if (gang.state == GangState::kJoining && ExitedWell(worker)) MaybeUp(turn, job);
    OnWorkerExit(turn, job, worker);
    return;
  }
  MaybeUp(turn, job);
}

void ResendJoined(Turn& turn, Job& job, const NodeId& node) {
  const Gang& gang = *job.gang;
  if (gang.state != GangState::kRunning || !IsTrain(job)) return;
  bool waits = false;
  for (const Worker& worker : gang.workers) {
    if (worker.join_blob.empty()) return;  // not all are back
    waits |= worker.node == node && worker.state == v1::JOINING;
  }
  if (waits) turn.Send(node, JoinedMessage(job));
}

void OnPrepareTimeout(Turn& turn, Job& job) {
  const Gang& gang = *job.gang;
  std::vector<std::string> silent;
  for (const NodeId& node : gang.nodes) {
    if (gang.prepared.count(node) == 0) silent.push_back(node.value());
  }
  Failure failure;
  failure.cause = v1::CAUSE_RETRY;
  failure.what = absl::StrCat("node ", absl::StrJoin(silent, ", "), " did not prepare within ",
                              absl::FormatDuration(turn.options.prepare_timeout));
  failure.detected = turn.now;
  failure.report.set_generation(gang.generation);
  failure.report.set_rank(-1);
  failure.report.set_node_id(silent.front());
  failure.report.set_message(failure.what);
  for (const std::string& node : silent) Avoid(turn, job, NodeId(node), "it did not prepare in time");
  FailGang(turn, job, failure);
}

void OnJoinTimeout(Turn& turn, Job& job) {
  const Gang& gang = *job.gang;
  std::vector<std::string> missing;
  const Worker* first = nullptr;
  for (const Worker& worker : gang.workers) {
    if (HasJoined(job, worker)) continue;
    if (first == nullptr) first = &worker;
    missing.push_back(absl::StrCat(worker.rank, " on ", worker.node.value()));
  }
  Failure failure = FailureOf(*first, gang.generation);
  failure.blame = Blame::kInfrastructure;
  failure.what = absl::StrCat("rank ", absl::StrJoin(missing, ", rank "), " did not ", IsTrain(job) ? "join" : "start",
                              " within ", absl::FormatDuration(turn.options.join_timeout));
  failure.report.set_message(failure.what);
  failure.detected = turn.now;
  FailGang(turn, job, failure);
}

}  // namespace muster::coordinator
