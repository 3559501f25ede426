#include "agent/core/launch_plan.h"

#include "absl/strings/str_cat.h"

namespace muster::agent {

LaunchPlan PlanLaunch(const v1::GangAssignment& gang, const v1::LocalWorker& worker, const v1::Slot& slot,
                      const std::string& node_id, const std::string& socket_path) {
  LaunchPlan plan;
  plan.command.assign(gang.spec().command().begin(), gang.spec().command().end());
  plan.working_dir = gang.spec().working_dir();
  for (const auto& [name, value] : gang.spec().env()) plan.env[name] = value;
  plan.env["RANK"] = absl::StrCat(worker.rank());
  plan.env["LOCAL_RANK"] = absl::StrCat(worker.local_rank());
  plan.env["WORLD_SIZE"] = absl::StrCat(gang.world_size());
  plan.env["LOCAL_WORLD_SIZE"] = absl::StrCat(gang.workers_size());
  plan.env["GROUP_RANK"] = absl::StrCat(gang.node_rank());
  plan.env["MASTER_ADDR"] = gang.master_addr();
  plan.env["MASTER_PORT"] = absl::StrCat(gang.master_port());
  plan.env["MUSTER_AGENT_SOCKET"] = socket_path;
  plan.env["MUSTER_JOB_ID"] = gang.job_id();
  plan.env["MUSTER_GENERATION"] = absl::StrCat(gang.generation());
  plan.env["MUSTER_NODE_ID"] = node_id;
  // A CPU worker must not touch a GPU that belongs to another job.
  plan.env["CUDA_VISIBLE_DEVICES"] = slot.device() == v1::GPU ? slot.uuid() : "";
  // As torchrun: several processes with a thread a core each would fight over the cores.
  if (!plan.command.empty() && plan.env.count("OMP_NUM_THREADS") == 0) plan.default_env["OMP_NUM_THREADS"] = "1";
  return plan;
}

}  // namespace muster::agent
