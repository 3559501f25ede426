#include "tests/sim/invariants.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "coordinator/core/records.h"

namespace muster::sim {
namespace {

using coordinator::Effects;

bool Finished(v1::JobState state) { return state == v1::SUCCEEDED || state == v1::FAILED || state == v1::CANCELLED; }

v1::StoredJob JobIn(const std::map<std::string, std::string>& records, const std::string& id) {
  v1::StoredJob job;
  auto it = records.find(coordinator::JobKey(id));
  if (it != records.end()) job.ParseFromString(it->second);
  return job;
}

}  // namespace

void Invariants::BeforeCommit(const std::map<std::string, std::string>& records, const Effects& effects) {
  for (const Effects::Put& put : effects.puts) {
    if (absl::StartsWith(put.key, "job/")) {
      v1::StoredJob job;
      job.ParseFromString(put.value);
      const v1::StoredJob before = JobIn(records, job.job_id());
      if (before.job_id().empty()) continue;
      if (job.generation() < before.generation()) world_->Fail(absl::StrCat(job.job_id(), ": generation went back"));
      if (job.generation() > before.generation() + 1) world_->Fail(absl::StrCat(job.job_id(), ": generation skipped"));
      if (job.committed_step() < before.committed_step()) {
        world_->Fail(absl::StrCat(job.job_id(), ": committed step went back"));
      }
      if (job.last_step() < before.last_step()) world_->Fail(absl::StrCat(job.job_id(), ": last step went back"));
      if (Finished(before.state()) && job.state() != before.state()) {
        world_->Fail(absl::StrCat(job.job_id(), ": was finished and is not"));
      }
      if (before.state() == v1::CANCELLING && job.state() != v1::CANCELLING && job.state() != v1::CANCELLED) {
        world_->Fail(absl::StrCat(job.job_id(), ": was being cancelled and is ", v1::JobState_Name(job.state())));
      }
      if (job.state() == v1::SUCCEEDED && job.spec().has_train() &&
          job.committed_step() != job.spec().train().steps()) {
        world_->Fail(absl::StrCat(job.job_id(), ": succeeded at step ", job.committed_step()));
      }
      if (job.job_uid() != before.job_uid()) world_->Fail(absl::StrCat(job.job_id(), ": another token"));
    }
    if (absl::StartsWith(put.key, "ckpt/") && records.count(put.key) == 0) {
      v1::StoredCheckpoint checkpoint;
      checkpoint.ParseFromString(put.value);
      const std::string& id = checkpoint.job_id();
      if (JobIn(records, id).generation() != checkpoint.generation()) {
        world_->Fail(absl::StrCat(id, ": generation ", checkpoint.generation(), " committed step ", checkpoint.step(),
                                  ", current is ", JobIn(records, id).generation()));
      }
      const int world_size = checkpoint.manifest().world_size();
      if (!world_->disk.HasAllShards(id, checkpoint.step(), checkpoint.generation(), world_size)) {
        world_->Fail(absl::StrCat(id, ": step ", checkpoint.step(), " was committed without all its shards"));
      }
    }
  }
}

void Invariants::BeforeSend(const std::map<std::string, std::string>& records, const v1::CoordinatorMessage& message) {
  for (const v1::GangAssignment& gang : message.desired().gangs()) {
    const v1::StoredJob job = JobIn(records, gang.job_id());
    // Later steps may be in the same group.
    if (job.generation() < gang.generation() ||
        records.count(coordinator::GenerationKey(gang.job_id(), gang.generation())) == 0) {
      world_->Fail(absl::StrCat(gang.job_id(), ": generation ", gang.generation(), " is told and not durable"));
    }
    if (job.committed_step() < gang.committed_step()) {
      world_->Fail(absl::StrCat(gang.job_id(), ": step ", gang.committed_step(), " is told and not durable"));
    }
  }
}

void Invariants::CheckAcknowledged(const std::map<std::string, std::string>& records) {
  for (const std::string& job : acknowledged_) {
    if (records.count(coordinator::JobKey(job)) == 0) world_->Fail(absl::StrCat(job, ": was acknowledged and is lost"));
  }
}

void Invariants::CheckGangs(const coordinator::State& state) {
  std::map<std::pair<NodeId, int>, std::string> taken;
  for (const auto& [id, job] : state.jobs) {
    if (!job.gang.has_value()) continue;
    for (const coordinator::Worker& worker : job.gang->workers) {
      const bool over = worker.gone || coordinator::ExitedWell(worker);
      if (!over && coordinator::StateOf(state.nodes.at(worker.node)) == v1::NODE_LOST) {
        world_->Fail(absl::StrCat(id.value(), " has a gang on ", worker.node.value(), ", which is lost"));
      }
      auto [it, is_new] = taken.emplace(std::make_pair(worker.node, worker.slot), id.value());
      if (!is_new) {
        world_->Fail(absl::StrCat("slot ", worker.slot, " of ", worker.node.value(), " is given to ", it->second,
                                  " and ", id.value()));
      }
    }
  }
}

void Invariants::CheckSame(const coordinator::State& live, const coordinator::State& loaded) {
  const auto same = [](const google::protobuf::MessageLite& a, const google::protobuf::MessageLite& b) {
    return coordinator::Serialize(a) == coordinator::Serialize(b);
  };
  const auto same_map = [&](const auto& a, const auto& b) {
    if (a.size() != b.size()) return false;
    for (auto x = a.begin(), y = b.begin(); x != a.end(); ++x, ++y) {
      if (x->first != y->first || !same(x->second, y->second)) return false;
    }
    return true;
  };
  if (!same(live.cluster, loaded.cluster)) world_->Fail("the cluster record is not what the state has");
  if (live.jobs.size() != loaded.jobs.size() || live.nodes.size() != loaded.nodes.size()) {
    world_->Fail("jobs or nodes are missing in the records");
    return;
  }
  for (const auto& [id, node] : live.nodes) {
    if (!same(node.record, loaded.nodes.at(id).record)) world_->Fail(absl::StrCat("record of node ", id.value()));
  }
  for (const auto& [id, job] : live.jobs) {
    const coordinator::Job& other = loaded.jobs.at(id);
    if (!same(job.record, other.record)) {
      world_->Fail(absl::StrCat("record of job ", id.value(), ":\n", job.record.ShortDebugString(), "\nstored:\n",
                                other.record.ShortDebugString()));
    }
    if (!same_map(job.generations, other.generations)) world_->Fail(absl::StrCat("generations of ", id.value()));
    if (!same_map(job.checkpoints, other.checkpoints)) world_->Fail(absl::StrCat("checkpoints of ", id.value()));
    if (!same_map(job.events, other.events)) world_->Fail(absl::StrCat("events of ", id.value()));
    if (!same_map(job.metrics, other.metrics)) world_->Fail(absl::StrCat("metrics of ", id.value()));
  }
}

}  // namespace muster::sim
