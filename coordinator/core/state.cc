#include "coordinator/core/state.h"

#include <algorithm>

namespace muster::coordinator {

v1::NodeState StateOf(const Node& node) {
  if (node.record.lost()) return v1::NODE_LOST;
  return node.session.has_value() ? v1::NODE_READY : v1::NODE_UNREACHABLE;
}

bool IsTrain(const Job& job) { return job.record.spec().has_train(); }

v1::StoredGeneration& CurrentGeneration(Job& job) { return job.generations.at(job.gang->generation); }
const v1::StoredGeneration& CurrentGeneration(const Job& job) { return job.generations.at(job.gang->generation); }

bool IsFinished(v1::JobState state) { return state == v1::SUCCEEDED || state == v1::FAILED || state == v1::CANCELLED; }

bool GangHasNode(const Gang& gang, const NodeId& node) {
  return std::find(gang.nodes.begin(), gang.nodes.end(), node) != gang.nodes.end();
}

bool ExitedWell(const Worker& worker) {
  return worker.state == v1::EXITED && worker.exit.code() == 0 && worker.exit.signal() == 0 &&
         worker.exit.start_error().empty() && !worker.exit.by_agent();
}

int64_t MetricsBlock(int64_t step) { return step / 128; }

const v1::StoredCheckpoint* NewestCheckpoint(const Job& job) {
  for (auto it = job.checkpoints.rbegin(); it != job.checkpoints.rend(); ++it) {
    if (!it->second.removing()) return &it->second;
  }
  return nullptr;
}

const v1::StoredCheckpoint* CheckpointToPublish(const Job& job) {
  for (auto it = job.checkpoints.rbegin(); it != job.checkpoints.rend(); ++it) {
    if (!it->second.published() && !it->second.removing()) return &it->second;
  }
  return nullptr;
}

}  // namespace muster::coordinator
