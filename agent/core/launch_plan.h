#ifndef MUSTER_AGENT_CORE_LAUNCH_PLAN_H_
#define MUSTER_AGENT_CORE_LAUNCH_PLAN_H_

#include <string>

#include "agent/core/actions.h"
#include "proto/agent.pb.h"

namespace muster::agent {

// What to run for `worker` of `gang`, and its environment: what torchrun's users know (RANK, LOCAL_RANK, WORLD_SIZE,
// LOCAL_WORLD_SIZE, GROUP_RANK, MASTER_ADDR, MASTER_PORT), the way to the agent (MUSTER_AGENT_SOCKET, MUSTER_JOB_ID,
// MUSTER_GENERATION, MUSTER_NODE_ID), CUDA_VISIBLE_DEVICES, and the spec's own. `slot`: the worker's.
LaunchPlan PlanLaunch(const v1::GangAssignment& gang, const v1::LocalWorker& worker, const v1::Slot& slot,
                      const std::string& node_id, const std::string& socket_path);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_CORE_LAUNCH_PLAN_H_
