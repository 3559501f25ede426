#include "tests/sim/mesh.h"

#include <memory>
#include <tuple>

#include "absl/strings/str_cat.h"

namespace muster::sim {
namespace {

// A peer went without a trace.
constexpr absl::Duration kPatience = absl::Seconds(5);
// A peer does not come: the coordinator may be away while only some ranks have their blobs.
constexpr absl::Duration kConnectPatience = absl::Seconds(30);

}  // namespace

void Mesh::Join(World* world, SimAgent* agent, const SimAgent::Key& key) {
  std::shared_ptr<Mesh>& mesh = world->meshes[absl::StrCat(std::get<0>(key), "/", std::get<1>(key))];
  if (mesh == nullptr) mesh = std::shared_ptr<Mesh>(new Mesh(world));
  mesh->Add(agent, key);
}

void Mesh::Add(SimAgent* agent, const SimAgent::Key& key) {
  const SimWorker* worker = agent->Find(key);
  if (over_) {
    agent->PeerLost(key, "the mesh is gone");
    return;
  }
  if (members_.empty()) {
    world_size_ = worker->world_size;
    steps_ = worker->spec.train().steps();
    every_ = worker->spec.checkpoint().every();
    step_ = worker->restore_step;
    world_->loop.After(kConnectPatience, [this] {
      if (!started_ && !over_) LoseEachOther();
    });
  }
  if (worker->restore_step != step_)
    world_->Fail(absl::StrCat(std::get<0>(key), ": ranks restore from different steps"));
  if (!members_.emplace(std::get<2>(key), Member{agent, key}).second) {
    world_->Fail(absl::StrCat(std::get<0>(key), ": a rank joins twice"));
  }
  if (static_cast<int>(members_.size()) < world_size_) return;
  started_ = true;
  if (step_ >= steps_) {
    // Nothing is left to do but to wait for the publishing.
    over_ = true;
    for (auto& [rank, member] : members_) member.agent->AllStepsDone(member.key);
    return;
  }
  world_->loop.After(absl::Milliseconds(20), [this] { Step(); });
}

bool Mesh::Broken() const {
  for (const auto& [rank, member] : members_) {
    const SimWorker* worker = member.agent->Find(member.key);
    if (worker == nullptr || !worker->alive || member.agent->partitioned()) return true;
  }
  return false;
}

void Mesh::LoseEachOther() {
  over_ = true;
  for (auto& [rank, member] : members_) {
    world_->loop.After(world_->Short(), [member = member] { member.agent->PeerLost(member.key, "a peer is gone"); });
  }
}

void Mesh::Step() {
  if (over_) return;
  if (Broken()) {
    // A dead process closes its connections; a cut cable tells nobody.
    const bool silent = world_->random.Chance(300);
    over_ = true;
    world_->loop.After(silent ? kPatience : world_->Short(), [this] { LoseEachOther(); });
    return;
  }
  ++step_;
  v1::StepMetrics metrics;
  metrics.set_step(step_);
  metrics.set_loss(1.0 / static_cast<double>(step_));
  Member& root = members_.at(0);
  root.agent->StepDone(root.key, metrics);
  if (step_ % every_ == 0 || step_ == steps_) {
    // The flag travels with the all-reduce: one rank that has it is enough.
    bool holding = false;
    for (const auto& [rank, member] : members_) holding |= member.agent->Find(member.key)->hold;
    holding &= step_ < steps_;
    Save(step_, holding);
    if (holding) {
      over_ = true;  // they wait to be taken down
      return;
    }
  }
  if (step_ == steps_) {
    over_ = true;
    for (auto& [rank, member] : members_) member.agent->AllStepsDone(member.key);
    return;
  }
  world_->loop.After(world_->random.Between(absl::Milliseconds(10), absl::Milliseconds(60)), [this] { Step(); });
}

void Mesh::Save(int64_t step, bool holding) {
  for (auto& [rank, member] : members_) {
    const SimWorker& worker = *member.agent->Find(member.key);
    v1::ShardReport shard;
    shard.set_step(step);
    shard.set_rank(rank);
    shard.set_holding(holding);
    shard.mutable_file()->set_name(absl::StrCat("shard-", rank));
    shard.mutable_file()->set_bytes(4);
    v1::TensorEntry* tensor = shard.add_tensors();
    tensor->set_name("w");
    tensor->set_dtype("F32");
    tensor->add_shape(world_size_);
    v1::TensorChunk* chunk = tensor->add_chunks();
    chunk->set_file(shard.file().name());
    chunk->set_start(rank);
    chunk->set_length(1);
    if (rank == 0) {
      v1::CheckpointManifest* header = shard.mutable_header();
      header->set_job_id(std::get<0>(member.key));
      header->set_job_uid(worker.job_uid);
      header->set_step(step);
      header->set_generation(std::get<1>(member.key));
      header->set_world_size(world_size_);
    }
    world_->loop.After(world_->random.Between(absl::Milliseconds(1), absl::Milliseconds(9)),
                       [member = member, shard] { member.agent->Saved(member.key, shard); });
  }
}

}  // namespace muster::sim
