#include "coordinator/core/views.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/proto_time.h"
#include "coordinator/core/placement.h"
#include "coordinator/core/state.h"
#include "coordinator/core/words.h"

namespace muster::coordinator {
namespace {

// Steps that the speed is taken over.
constexpr int kSpeedSteps = 10;

const v1::StoredStep* FindStep(const Job& job, int64_t step) {
  auto block = job.metrics.find(MetricsBlock(step));
  if (block == job.metrics.end()) return nullptr;
  for (const v1::StoredStep& stored : block->second.steps()) {
    if (stored.metrics().step() == step) return &stored;
  }
  return nullptr;
}

// The newest step of the current gang (what it starts from, if it has none yet); without a gang, the newest ever.
int64_t StepNow(const Job& job) {
  if (!job.gang.has_value()) return job.record.last_step();
  return std::max(job.gang->newest_step, CurrentGeneration(job).restore_step());
}

double TokensPerSecond(const Job& job, int64_t newest) {
  double tokens = 0;
  double seconds = 0;
  uint64_t generation = 0;
  for (int64_t step = newest; step > 0 && step > newest - kSpeedSteps; --step) {
    const v1::StoredStep* stored = FindStep(job, step);
    if (stored == nullptr || (generation != 0 && stored->generation() != generation)) break;
    generation = stored->generation();
    tokens += static_cast<double>(stored->metrics().tokens());
    seconds += stored->metrics().step_seconds();
  }
  return seconds > 0 ? tokens / seconds : 0;
}

std::string NodeReason(const State& state, const NodeId& id, const Node& node) {
  std::string reason = node.record.reason();
  if (StateOf(node) == v1::NODE_UNREACHABLE) {
    reason = absl::StrCat(node.disconnected_at == absl::InfinitePast() ? "not back since the coordinator's restart"
                                                                       : node.disconnect_reason,
                          "; lost if it is not back by ", TimeOfDay(node.lease_until));
  }
  for (const auto& [number, job_id] : state.unfinished) {
    const Job& job = state.jobs.at(job_id);
    auto it = job.avoided.find(id);
    if (it == job.avoided.end()) continue;
    absl::StrAppend(&reason, reason.empty() ? "" : "; ", "avoided by ", job_id.value(), " until ",
                    TimeOfDay(it->second.until), ": ", it->second.why);
  }
  return reason;
}

}  // namespace

absl::StatusOr<JobId> FindJob(const State& state, absl::string_view job) {
  if (state.jobs.count(JobId(std::string(job))) > 0) return JobId(std::string(job));
  for (auto it = state.jobs_by_number.rbegin(); it != state.jobs_by_number.rend(); ++it) {
    if (state.jobs.at(it->second).record.spec().name() == job) return it->second;
  }
  return absl::NotFoundError(absl::StrCat("no job has the id or name '", job, "'; see `musterctl list`"));
}

v1::JobView ViewOfJob(const State& state, const JobId& id) {
  const Job& job = state.jobs.at(id);
  const v1::StoredJob& record = job.record;
  v1::JobView view;
  view.set_job_id(record.job_id());
  view.set_name(record.spec().name());
  view.set_state(record.state());
  view.set_reason(record.reason());
  view.set_generation(record.generation());
  if (job.gang.has_value()) {
    view.set_world_size(static_cast<int>(job.gang->workers.size()));
    view.set_nodes(static_cast<int>(job.gang->nodes.size()));
  }
  const int64_t step = StepNow(job);
  view.set_step(step);
  view.set_total_steps(record.spec().train().steps());
  if (const v1::StoredStep* stored = FindStep(job, step)) view.set_loss(stored->metrics().loss());
  view.set_tokens_per_second(TokensPerSecond(job, step));
  *view.mutable_submitted_at() = record.submitted_at();
  if (record.has_finished_at()) *view.mutable_finished_at() = record.finished_at();
  *view.mutable_restarts() = record.restarts();
  view.set_committed_step(record.committed_step());
  return view;
}

v1::JobDetail DetailOfJob(const State& state, const JobId& id) {
  const Job& job = state.jobs.at(id);
  v1::JobDetail detail;
  *detail.mutable_job() = ViewOfJob(state, id);
  *detail.mutable_spec() = job.record.spec();
  detail.set_job_uid(job.record.job_uid());
  if (job.gang.has_value()) {
    for (const Worker& worker : job.gang->workers) {
      v1::RankView* rank = detail.add_ranks();
      rank->set_rank(worker.rank);
      rank->set_node_id(worker.node.value());
      rank->set_local_rank(worker.local_rank);
      rank->set_state(worker.state);
      rank->set_pid(worker.pid);
    }
  }
  for (const auto& [number, generation] : job.generations) *detail.add_generations() = generation;
  for (const auto& [seq, event] : job.events) *detail.add_events() = event;
  if (job.record.has_failure()) *detail.mutable_failure() = job.record.failure();
  bool has_val_loss = false;
  for (auto block = job.metrics.rbegin(); block != job.metrics.rend(); ++block) {
    const auto& steps = block->second.steps();
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
      if (detail.sample().empty()) detail.set_sample(step->metrics().sample());
      if (!has_val_loss && step->metrics().has_val_loss()) {
        detail.set_val_loss(step->metrics().val_loss());
        has_val_loss = true;
      }
    }
    if (has_val_loss && !detail.sample().empty()) break;
  }
  return detail;
}

std::vector<v1::JobView> ViewsOfJobs(const State& state, bool unfinished_only) {
  std::vector<v1::JobView> views;
  for (const auto& [number, id] : state.jobs_by_number) {
    if (unfinished_only && IsFinished(state.jobs.at(id).record.state())) continue;
    views.push_back(ViewOfJob(state, id));
  }
  return views;
}

std::vector<v1::NodeView> ViewsOfNodes(const State& state) {
  std::vector<v1::NodeView> views;
  for (const auto& [id, node] : state.nodes) {
    v1::NodeView view;
    view.set_node_id(id.value());
    view.set_state(StateOf(node));
    view.set_reason(NodeReason(state, id, node));
    view.set_address(node.record.address());
    *view.mutable_slots() = node.record.slots();
    for (int slot : SlotsInUse(state, id)) view.add_slots_in_use(slot);
    for (const auto& [number, job_id] : state.unfinished) {
      const Job& job = state.jobs.at(job_id);
      if (job.gang.has_value() && GangHasNode(*job.gang, id)) view.add_jobs(job_id.value());
    }
    view.set_version(node.record.version());
    if (node.last_seen != absl::InfinitePast()) {
      *view.mutable_last_seen() = ToProto(node.last_seen);
    } else {
      *view.mutable_last_seen() = node.record.changed_at();
    }
    views.push_back(std::move(view));
  }
  return views;
}

std::vector<v1::StoredCheckpoint> CheckpointsOfJob(const State& state, const JobId& id) {
  std::vector<v1::StoredCheckpoint> out;
  for (const auto& [step, checkpoint] : state.jobs.at(id).checkpoints) out.push_back(checkpoint);
  return out;
}

std::vector<v1::StoredStep> StepsOfJob(const State& state, const JobId& id, int64_t first_step) {
  std::vector<v1::StoredStep> out;
  const Job& job = state.jobs.at(id);
  for (auto block = job.metrics.lower_bound(MetricsBlock(std::max<int64_t>(first_step, 0))); block != job.metrics.end();
       ++block) {
    for (const v1::StoredStep& step : block->second.steps()) {
      if (step.metrics().step() >= first_step) out.push_back(step);
    }
  }
  return out;
}

std::vector<v1::StoredEvent> EventsOfJob(const State& state, const JobId& id, uint64_t first) {
  std::vector<v1::StoredEvent> out;
  const Job& job = state.jobs.at(id);
  for (auto it = job.events.lower_bound(first); it != job.events.end(); ++it) out.push_back(it->second);
  return out;
}

std::string ClusterId(const State& state) { return state.cluster.cluster_id(); }

}  // namespace muster::coordinator
