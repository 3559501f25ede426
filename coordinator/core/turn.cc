#include "coordinator/core/turn.h"

#include <algorithm>

#include "common/proto_time.h"
#include "coordinator/core/desired.h"
#include "coordinator/core/records.h"

namespace muster::coordinator {
namespace {

constexpr size_t kMaxEvents = 10'000;

}  // namespace

void Turn::Touch(Job& job) {
  jobs_.insert(JobId(job.record.job_id()));
  effects.changed.insert(JobId(job.record.job_id()));
}

void Turn::TouchGeneration(Job& job, uint64_t generation) {
  generations_.emplace(JobId(job.record.job_id()), generation);
  effects.changed.insert(JobId(job.record.job_id()));
}

void Turn::TouchCheckpoint(Job& job, int64_t step) {
  checkpoints_.emplace(JobId(job.record.job_id()), step);
  effects.changed.insert(JobId(job.record.job_id()));
}

void Turn::TouchMetrics(Job& job, int64_t block) {
  metrics_.emplace(JobId(job.record.job_id()), block);
  effects.changed.insert(JobId(job.record.job_id()));
}

void Turn::EraseCheckpoint(Job& job, int64_t step) {
  if (job.checkpoints.erase(step) == 0) return;
  checkpoints_.erase({JobId(job.record.job_id()), step});
  effects.deletes.push_back(CheckpointKey(job.record.job_id(), step));
  effects.changed.insert(JobId(job.record.job_id()));
}

void Turn::EraseGeneration(Job& job, uint64_t generation) {
  if (job.generations.erase(generation) == 0) return;
  generations_.erase({JobId(job.record.job_id()), generation});
  effects.deletes.push_back(GenerationKey(job.record.job_id(), generation));
}

void Turn::AddEvent(Job& job, absl::string_view type, const std::string& message, const EventDetail& detail) {
  Touch(job);
  const uint64_t seq = job.record.next_event();
  job.record.set_next_event(seq + 1);
  v1::StoredEvent& event = job.events[seq];
  event.set_job_id(job.record.job_id());
  event.set_seq(seq);
  *event.mutable_at() = ToProto(now);
  event.set_type(std::string(type));
  event.set_message(message);
  event.set_generation(job.record.generation());
  event.set_node_id(detail.node.value());
  event.set_rank(detail.rank);
  event.set_step(detail.step);
  effects.puts.push_back({EventKey(job.record.job_id(), seq), Serialize(event)});
  while (job.events.size() > kMaxEvents) {
    effects.deletes.push_back(EventKey(job.record.job_id(), job.events.begin()->first));
    job.events.erase(job.events.begin());
  }
}

void Turn::TellGang(const Job& job) {
  for (const NodeId& node : job.gang->nodes) Tell(node);
}

void Turn::Send(const NodeId& node, v1::CoordinatorMessage message) {
  auto it = state.nodes.find(node);
  if (it == state.nodes.end() || !it->second.session.has_value()) return;
  effects.sends.push_back({*it->second.session, std::move(message)});
}

void Turn::Finish() {
  if (cluster_) effects.puts.push_back({ClusterKey(), Serialize(state.cluster)});
  for (const NodeId& node : nodes_) {
    effects.puts.push_back({NodeKey(node.value()), Serialize(state.nodes.at(node).record)});
  }
  for (const JobId& job : jobs_) {
    effects.puts.push_back({JobKey(job.value()), Serialize(state.jobs.at(job).record)});
  }
  for (const auto& [job, generation] : generations_) {
    effects.puts.push_back(
        {GenerationKey(job.value(), generation), Serialize(state.jobs.at(job).generations.at(generation))});
  }
  for (const auto& [job, step] : checkpoints_) {
    effects.puts.push_back({CheckpointKey(job.value(), step), Serialize(state.jobs.at(job).checkpoints.at(step))});
  }
  for (const auto& [job, block] : metrics_) {
    effects.puts.push_back({MetricsKey(job.value(), block), Serialize(state.jobs.at(job).metrics.at(block))});
  }
  for (const NodeId& id : tell_) {
    auto it = state.nodes.find(id);
    if (it == state.nodes.end() || !it->second.session.has_value()) continue;
    Node& node = it->second;
    // Grows over restarts of the coordinator too, since agents drop what is older than the newest they saw.
    node.revision = std::max<uint64_t>(node.revision + 1, std::max<int64_t>(0, absl::ToUnixMicros(now)));
    v1::CoordinatorMessage message;
    *message.mutable_desired() = DesiredStateOf(state, id);
    message.mutable_desired()->set_revision(node.revision);
    Send(id, std::move(message));
  }
}

}  // namespace muster::coordinator
