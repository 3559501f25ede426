#include "coordinator/core/desired.h"

namespace muster::coordinator {
namespace {

v1::GangPhase PhaseOf(GangState state) {
  switch (state) {
    case GangState::kPreparing:
      return v1::PREPARE;
    case GangState::kJoining:
    case GangState::kRunning:
      return v1::LAUNCH;
    case GangState::kStopping:
      return v1::STOP;
  }
  return v1::GANG_PHASE_UNSPECIFIED;
}

v1::GangAssignment AssignmentOf(const Job& job, int node_rank) {
  const Gang& gang = *job.gang;
  const v1::StoredGeneration& generation = CurrentGeneration(job);
  v1::GangAssignment out;
  out.set_job_id(job.record.job_id());
  out.set_job_uid(job.record.job_uid());
  out.set_generation(gang.generation);
  out.set_phase(PhaseOf(gang.state));
  *out.mutable_spec() = job.record.spec();
  out.set_world_size(static_cast<int>(gang.workers.size()));
  out.set_node_rank(node_rank);
  out.set_node_count(static_cast<int>(gang.nodes.size()));
  *out.mutable_workers() = generation.nodes(node_rank).workers();
  out.set_master_addr(generation.master_addr());
  out.set_master_port(generation.master_port());
  if (auto restore = job.checkpoints.find(generation.restore_step());
      generation.restore_step() > 0 && restore != job.checkpoints.end()) {
    out.mutable_restore()->set_step(restore->second.step());
    out.mutable_restore()->set_path(restore->second.path());
    *out.mutable_restore()->mutable_manifest() = restore->second.manifest();
  }
  out.set_committed_step(job.record.committed_step());
  if (node_rank == 0) {
    if (const v1::StoredCheckpoint* publish = CheckpointToPublish(job)) *out.mutable_publish() = publish->manifest();
    for (const auto& [step, checkpoint] : job.checkpoints) {
      if (checkpoint.removing()) out.add_remove_steps(step);
    }
  }
  out.set_hold_at_checkpoint(gang.hold);
  return out;
}

}  // namespace

v1::DesiredState DesiredStateOf(const State& state, const NodeId& node) {
  v1::DesiredState desired;
  for (const auto& [number, id] : state.unfinished) {
    const Job& job = state.jobs.at(id);
    if (!job.gang.has_value()) continue;
    for (size_t node_rank = 0; node_rank < job.gang->nodes.size(); ++node_rank) {
      if (job.gang->nodes[node_rank] == node) *desired.add_gangs() = AssignmentOf(job, static_cast<int>(node_rank));
    }
  }
  return desired;
}

}  // namespace muster::coordinator
