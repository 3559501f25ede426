#include "coordinator/core/scenarios/scripted_agent.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/version.h"

namespace muster::coordinator {
namespace {

void FillExit(const Command& command, v1::ExitInfo* exit) {
  exit->set_code(static_cast<int>(command.Number("code", 0)));
  exit->set_signal(static_cast<int>(command.Number("signal", 0)));
  exit->set_start_error(command.Text("start_error", ""));
  exit->set_by_agent(command.Flag("by_agent"));
  exit->set_oom_killed(command.Flag("oom"));
  exit->set_port_conflict(command.Flag("port_conflict"));
  if (command.Has("line")) exit->add_last_lines(command.Text("line", ""));
}

v1::StepMetrics Metrics(int64_t step) {
  v1::StepMetrics m;
  m.set_step(step);
  m.set_loss(4.0 / static_cast<double>(step));
  m.set_step_seconds(0.5);
  m.set_tokens(4096);
  return m;
}

v1::FailureKind Kind(const std::string& name) {
  if (name == "peer_lost") return v1::PEER_LOST;
  return name == "permanent" ? v1::PERMANENT : v1::TRANSIENT;
}

}  // namespace

void ScriptedAgent::Receive(const v1::CoordinatorMessage& message) {
  if (!message.has_desired()) return;
  desired_ = message.desired();
  // What is not desired any more is killed and forgotten.
  std::map<std::string, uint64_t> wanted;
  for (const v1::GangAssignment& gang : desired_.gangs()) wanted[gang.job_id()] = gang.generation();
  for (auto it = workers_.begin(); it != workers_.end();) {
    auto w = wanted.find(it->first.first);
    it = w == wanted.end() || w->second != it->second.generation() ? workers_.erase(it) : std::next(it);
  }
  for (auto it = prepared_.begin(); it != prepared_.end();) {
    auto w = wanted.find(it->first.first);
    it = w == wanted.end() || w->second != it->first.second ? prepared_.erase(it) : std::next(it);
  }
}

v1::Register ScriptedAgent::Registration(const Command& command, int number) const {
  v1::Register r;
  r.set_protocol(static_cast<int>(command.Number("protocol", kProtocolVersion)));
  r.set_version(command.Text("version", kVersion));
  r.set_node_id(command.Text("node", node_));
  r.set_agent_uid(command.Text("uid", absl::StrCat("uid-", node_)));
  r.set_incarnation(command.Text("incarnation", "first"));
  r.set_address(command.Text("address", absl::StrCat("10.0.0.", number)));
  int index = 0;
  for (int i = 0; i < command.Number("slots", command.Has("gpus") ? 0 : 1); ++i) {
    v1::Slot* slot = r.add_slots();
    slot->set_device(v1::CPU);
    slot->set_index(index++);
  }
  for (int i = 0; i < command.Number("gpus", 0); ++i) {
    v1::Slot* slot = r.add_slots();
    slot->set_device(v1::GPU);
    slot->set_index(index++);
  }
  if (command.Flag("bare")) return r;
  for (const auto& [key, worker] : workers_) *r.add_workers() = worker;
  for (const auto& [key, prepared] : prepared_) *r.add_prepared() = prepared;
  return r;
}

std::vector<ScriptedAgent::Place> ScriptedAgent::Places(const Command& command) const {
  std::vector<Place> places;
  for (const v1::GangAssignment& gang : desired_.gangs()) {
    if (command.Has("job") && command.Text("job", "") != gang.job_id()) continue;
    for (const v1::LocalWorker& w : gang.workers()) {
      if (command.Has("rank") && command.Number("rank", 0) != w.rank()) continue;
      places.push_back(
          {gang.job_id(), gang.job_uid(), gang.generation(), w.rank(), w.local_rank(), w.slot(), gang.world_size()});
    }
  }
  if (command.Has("generation")) {
    const uint64_t generation = static_cast<uint64_t>(command.Number("generation", 0));
    const Place named = {command.Text("job", ""), "", generation, static_cast<int>(command.Number("rank", 0)), 0, 0, 1};
    if (places.empty()) places.push_back(named);
    for (Place& place : places) place.generation = generation;
  }
  return places;
}

v1::WorkerStatus* ScriptedAgent::StatusOf(const Place& place) {
  v1::WorkerStatus& status = workers_[{place.job, place.rank}];
  status.set_job_id(place.job);
  status.set_generation(place.generation);
  status.set_rank(place.rank);
  status.set_local_rank(place.local_rank);
  status.set_slot(place.slot);
  status.set_pid(100 + place.rank);
  return &status;
}

v1::ShardReport ScriptedAgent::Shard(const Command& command, const Place& place) const {
  v1::ShardReport shard;
  shard.set_step(command.Number("step", 0));
  shard.set_rank(place.rank);
  shard.set_holding(command.Flag("holding"));
  shard.mutable_file()->set_name(absl::StrCat("shard-", place.rank, "-of-", place.world_size));
  shard.mutable_file()->set_bytes(1000);
  v1::TensorEntry* tensor = shard.add_tensors();
  tensor->set_name("param/w");
  tensor->set_dtype("F32");
  tensor->add_shape(command.Number("elements", 10) * place.world_size);
  v1::TensorChunk* chunk = tensor->add_chunks();
  chunk->set_file(shard.file().name());
  chunk->set_start(10 * place.rank);
  chunk->set_length(10);
  if (place.rank == 0) {
    v1::CheckpointManifest* header = shard.mutable_header();
    header->set_job_id(place.job);
    header->set_job_uid(place.uid);
    header->set_step(shard.step());
    header->set_generation(place.generation);
    header->set_world_size(place.world_size);
  }
  return shard;
}

std::vector<v1::AgentMessage> ScriptedAgent::Say(const Command& command) {
  std::vector<v1::AgentMessage> messages;
  const std::vector<Place> places = Places(command);
  const std::string& verb = command.verb;
  std::string said_for;
  for (const Place& place : places) {
    v1::AgentMessage m;
    const bool first_of_gang = said_for != place.job;
    said_for = place.job;
    if (verb == "prepared") {
      if (!first_of_gang) continue;
      m.mutable_prepared()->set_job_id(place.job);
      m.mutable_prepared()->set_generation(place.generation);
      m.mutable_prepared()->set_error(command.Text("error", ""));
      m.mutable_prepared()->set_master_port(static_cast<int>(20000 + place.generation));
      if (!command.Has("error")) prepared_[{place.job, place.generation}] = m.prepared();
    } else if (verb == "started" || verb == "joined" || verb == "running") {
      v1::WorkerStatus* status = StatusOf(place);
      status->set_state(verb == "started" ? v1::STARTING : verb == "joined" ? v1::JOINING : v1::RUNNING);
      if (verb == "joined") status->set_join_blob(absl::StrCat("blob", place.rank));
      *m.mutable_worker() = *status;
    } else if (verb == "exit") {
      v1::WorkerStatus* status = StatusOf(place);
      status->set_state(v1::EXITED);
      FillExit(command, status->mutable_exit());
      *m.mutable_worker() = *status;
    } else if (verb == "fails") {
      m.mutable_failure()->set_job_id(place.job);
      m.mutable_failure()->set_generation(place.generation);
      m.mutable_failure()->set_rank(place.rank);
      m.mutable_failure()->set_kind(Kind(command.Text("kind", "transient")));
      m.mutable_failure()->set_message(command.Text("message", "something broke"));
    } else if (verb == "progress") {
      const std::vector<std::string> range = absl::StrSplit(command.Text("steps", "1"), "..");
      m.mutable_progress()->set_job_id(place.job);
      m.mutable_progress()->set_generation(place.generation);
      for (int64_t s = std::stoll(range.front()); s <= std::stoll(range.back()); ++s) {
        *m.mutable_progress()->add_steps() = Metrics(s);
      }
    } else if (verb == "shard") {
      v1::WorkerStatus* status = StatusOf(place);
      *status->mutable_shard() = Shard(command, place);
      *m.mutable_worker() = *status;
    } else if (verb == "published") {
      if (!first_of_gang) continue;
      m.mutable_published()->set_job_id(place.job);
      m.mutable_published()->set_generation(place.generation);
      m.mutable_published()->set_step(command.Number("step", 0));
      m.mutable_published()->set_error(command.Text("error", ""));
      if (command.Has("removed")) {
        for (const auto& s : absl::StrSplit(command.Text("removed", ""), ',')) {
          m.mutable_published()->add_removed_steps(std::stoll(std::string(s)));
        }
      }
    }
    messages.push_back(std::move(m));
  }
  return messages;
}

}  // namespace muster::coordinator
