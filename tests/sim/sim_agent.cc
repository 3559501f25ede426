#include "tests/sim/sim_agent.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/version.h"
#include "tests/sim/mesh.h"
#include "tests/sim/sim_coordinator.h"

namespace muster::sim {
namespace {

constexpr absl::Duration kTick = absl::Milliseconds(100);
constexpr absl::Duration kHeartbeat = absl::Milliseconds(500);
constexpr absl::Duration kLease = absl::Seconds(3);
constexpr int kSlots = 2;

}  // namespace

SimAgent::SimAgent(World* world, int number) : world_(world), name_(absl::StrCat("n", number)), number_(number) {}

void SimAgent::Later(absl::Duration d, std::function<void()> f) {
  world_->loop.After(d, [this, life = life_, f = std::move(f)] {
    if (life == life_ && process_up_) f();
  });
}

void SimAgent::StartNode() {
  if (node_up_) return;
  world_->Log(absl::StrCat(name_, " starts"));
  node_up_ = true;
  ++node_life_;
  // Its disk tells that workers ran here, or does not.
  if (world_->random.Chance(500)) workers_.clear();
  for (auto& [key, worker] : workers_) {
    worker.alive = false;
    worker.status.set_state(v1::EXITED);
    worker.status.mutable_exit()->set_signal(9);
  }
  StartAgent();
}

void SimAgent::KillNode(bool silently) {
  if (!node_up_) return;
  world_->Log(absl::StrCat(name_, silently ? " dies silently" : " dies"));
  for (auto& [key, worker] : workers_) worker.alive = false;
  node_up_ = false;
  ++node_life_;
  process_up_ = false;
  ++life_;
  prepared_.clear();
  preparing_.clear();
  if (!silently) CloseStream("connection reset");
  stream_.reset();
}

void SimAgent::KillAgent() {
  if (!process_up_) return;
  world_->Log(absl::StrCat(name_, "'s agent is killed"));
  process_up_ = false;
  ++life_;
  // What it knew is gone; what is on the node stays.
  prepared_.clear();
  preparing_.clear();
  CloseStream("connection closed");
}

void SimAgent::StartAgent() {
  if (process_up_ || !node_up_) return;
  process_up_ = true;
  ++life_;
  desired_.Clear();
  last_heard_ = world_->loop.now();
  next_heartbeat_ = last_heard_;
  next_try_ = last_heard_;
  Later(absl::ZeroDuration(), [this] { Tick(); });
}

void SimAgent::Partition() {
  if (partitioned_) return;
  world_->Log(absl::StrCat(name_, " is cut off"));
  partitioned_ = true;
  if (stream_ != nullptr) stream_->Hold(true);
}

void SimAgent::Heal() {
  if (!partitioned_) return;
  world_->Log(absl::StrCat(name_, " is back on the network"));
  partitioned_ = false;
  if (stream_ == nullptr) return;
  if (world_->random.Chance(500)) {
    stream_->Hold(false);
  } else {
    CloseStream("timed out");
  }
}

void SimAgent::KillWorker() {
  std::vector<Key> alive;
  for (const auto& [key, worker] : workers_) {
    if (worker.alive) alive.push_back(key);
  }
  if (alive.empty()) return;
  const Key key = alive[world_->random.Below(static_cast<int>(alive.size()))];
  world_->Log(absl::StrCat("a worker of ", std::get<0>(key), "/", std::get<1>(key), " on ", name_, " is killed"));
  Exit(key, 0, 9, false);
}

void SimAgent::BreakStream() {
  world_->Log(absl::StrCat(name_, "'s stream breaks"));
  CloseStream("connection reset");
}

void SimAgent::Tick() {
  const absl::Time now = world_->loop.now();
  if (stream_ == nullptr && now >= next_try_ && !partitioned_) {
    if (world_->coordinator->up()) {
      Connect();
    } else {
      // Refused: the host is up and the process is not, so nobody has decided anything.
      last_heard_ = now;
    }
    next_try_ = now + world_->random.Between(absl::Milliseconds(100), absl::Milliseconds(400));
  }
  if (stream_ != nullptr && now >= next_heartbeat_) {
    v1::AgentMessage message;
    message.mutable_heartbeat()->set_seq(++heartbeat_);
    Send(std::move(message));
    next_heartbeat_ = now + kHeartbeat;
  }
  if (now - last_heard_ > kLease) {
    if (stream_ != nullptr) CloseStream("no word from the coordinator");
    std::vector<Key> alive;
    for (const auto& [key, worker] : workers_) {
      if (worker.alive) alive.push_back(key);
    }
    if (!alive.empty()) world_->Log(absl::StrCat(name_, " has lost its lease and kills its workers"));
    for (const Key& key : alive) Exit(key, 0, 9, true);
  }
  // A worker that is done exits once its last step is committed, and published by rank 0.
  std::vector<Key> finished;
  for (const auto& [key, worker] : workers_) {
    const int64_t steps = worker.spec.train().steps();
    if (!worker.alive || !worker.done || worker.committed_step < steps) continue;
    if (worker.status.rank() == 0 && !world_->disk.IsPublished(std::get<0>(key), steps)) continue;
    finished.push_back(key);
  }
  for (const Key& key : finished) Exit(key, 0, 0, false);
  Later(kTick, [this] { Tick(); });
}

void SimAgent::Connect() {
  stream_ = std::make_shared<Stream>(world_, world_->coordinator->NewSession());
  last_heard_ = world_->loop.now();
  stream_->up->Push([world = world_, stream = stream_, this, registration = Registration()] {
    if (world->coordinator->up()) {
      world->coordinator->Connect(stream, this, registration);
    } else {
      stream->coordinator_open = false;
      LearnOfClose(stream, absl::UnavailableError("connection refused"));
    }
  });
  for (const auto& [key, worker] : workers_) {
    if (!worker.failure.has_value()) continue;
    v1::AgentMessage message;
    *message.mutable_failure() = *worker.failure;
    Send(std::move(message));
    SendStatus(worker);
  }
  // What was not acknowledged is said again.
  for (const auto& [key, worker] : workers_) {
    if (worker.unacknowledged.empty()) continue;
    v1::AgentMessage message;
    message.mutable_progress()->set_job_id(std::get<0>(key));
    message.mutable_progress()->set_generation(std::get<1>(key));
    for (const v1::StepMetrics& step : worker.unacknowledged) *message.mutable_progress()->add_steps() = step;
    Send(std::move(message));
  }
}

void SimAgent::CloseStream(const std::string& why) {
  if (stream_ == nullptr) return;
  std::shared_ptr<Stream> stream = std::move(stream_);
  stream_.reset();
  stream->agent_open = false;
  stream->down->Close();
  // The close travels behind what was sent; in a partition it waits with it.
  if (world_->random.Chance(500) && !partitioned_) stream->up->Close();
  auto tell = [world = world_, stream, why] { world->coordinator->Closed(stream, why); };
  if (partitioned_) {
    stream->up->Push(tell);
    // Nobody holds this pipe any more after the partition; the coordinator finds out by itself.
  } else {
    world_->loop.After(world_->Short(), tell);
  }
}

void SimAgent::LearnOfClose(const std::shared_ptr<Stream>& stream, const absl::Status& status) {
  world_->loop.After(world_->Short(), [this, stream, status] { Ended(stream, status); });
}

void SimAgent::Ended(const std::shared_ptr<Stream>& stream, const absl::Status& status) {
  stream->agent_open = false;
  stream->up->Close();
  stream->down->Close();
  if (stream_ != stream) return;
  stream_.reset();
  if (absl::IsInvalidArgument(status) || absl::IsFailedPrecondition(status)) {
    world_->Fail(absl::StrCat(name_, " was refused: ", status.ToString()));
  }
}

void SimAgent::Send(v1::AgentMessage message) {
  if (stream_ == nullptr) return;
  stream_->up->Push(
      [world = world_, stream = stream_, message = std::move(message)] { world->coordinator->Said(stream, message); });
}

void SimAgent::SendStatus(const SimWorker& worker) {
  v1::AgentMessage message;
  *message.mutable_worker() = worker.status;
  Send(std::move(message));
}

v1::Register SimAgent::Registration() {
  v1::Register r;
  r.set_protocol(kProtocolVersion);
  r.set_version(kVersion);
  r.set_node_id(name_);
  r.set_agent_uid(absl::StrCat("uid-", name_));
  r.set_incarnation(absl::StrCat(life_));
  r.set_address(absl::StrCat("10.0.0.", number_));
  for (int i = 0; i < kSlots; ++i) {
    v1::Slot* slot = r.add_slots();
    slot->set_device(v1::CPU);
    slot->set_index(i);
  }
  for (const auto& [key, worker] : workers_) {
    v1::WorkerStatus* status = r.add_workers();
    *status = worker.status;
    if (!worker.failure.has_value() || worker.alive) continue;
    // A registration has no room for what it said before its end, so its end follows that.
    status->set_state(v1::RUNNING);
    status->clear_exit();
  }
  for (const auto& [key, prepared] : prepared_) *r.add_prepared() = prepared;
  return r;
}

void SimAgent::Receive(const std::shared_ptr<Stream>& stream, const v1::CoordinatorMessage& message) {
  if (!stream->agent_open || stream != stream_ || !process_up_) return;
  last_heard_ = world_->loop.now();
  if (message.has_desired()) {
    OnDesired(message.desired());
  } else if (message.has_joined()) {
    OnJoined(message.joined());
  } else if (message.has_progress_ack()) {
    const v1::ProgressAck& ack = message.progress_ack();
    if (SimWorker* worker = Find({ack.job_id(), ack.generation(), 0})) {
      auto& steps = worker->unacknowledged;
      steps.erase(
          std::remove_if(steps.begin(), steps.end(), [&](const v1::StepMetrics& s) { return s.step() <= ack.step(); }),
          steps.end());
    }
  }
}

const v1::GangAssignment* SimAgent::Assigned(const std::string& job, uint64_t generation) const {
  for (const v1::GangAssignment& gang : desired_.gangs()) {
    if (gang.job_id() == job && gang.generation() == generation) return &gang;
  }
  return nullptr;
}

void SimAgent::OnDesired(const v1::DesiredState& desired) {
  if (desired.revision() <= desired_.revision()) return;
  desired_ = desired;
  std::vector<Key> fenced;
  for (const auto& [key, worker] : workers_) {
    if (Assigned(std::get<0>(key), std::get<1>(key)) == nullptr) fenced.push_back(key);
  }
  for (const Key& key : fenced) Kill(key, true, true);
  for (auto it = prepared_.begin(); it != prepared_.end();) {
    it = Assigned(it->first.first, it->first.second) == nullptr ? prepared_.erase(it) : std::next(it);
  }
  for (const v1::GangAssignment& gang : desired.gangs()) {
    switch (gang.phase()) {
      case v1::PREPARE:
        Prepare(gang.job_id(), gang.generation());
        break;
      case v1::LAUNCH:
        Launch(gang);
        break;
      case v1::STOP:
        Stop(gang);
        break;
      default:
        world_->Fail("an assignment without a phase");
    }
    Direct(gang);
  }
}

void SimAgent::Prepare(const std::string& job, uint64_t generation) {
  if (auto it = prepared_.find({job, generation}); it != prepared_.end()) {
    v1::AgentMessage message;
    *message.mutable_prepared() = it->second;
    Send(std::move(message));
    return;
  }
  if (!preparing_.insert({job, generation}).second) return;
  Later(world_->random.Between(absl::Milliseconds(5), absl::Milliseconds(40)), [this, job, generation] {
    preparing_.erase({job, generation});
    const v1::GangAssignment* gang = Assigned(job, generation);
    if (gang == nullptr || gang->phase() != v1::PREPARE) return;
    // Older workers on these slots are dead first.
    for (const auto& [key, worker] : workers_) {
      if (!worker.alive || (std::get<0>(key) == job && std::get<1>(key) == generation)) continue;
      for (const v1::LocalWorker& local : gang->workers()) {
        if (local.slot() != worker.status.slot()) continue;
        Prepare(job, generation);
        return;
      }
    }
    v1::GangPrepared prepared;
    prepared.set_job_id(job);
    prepared.set_generation(generation);
    if (world_->random.Chance(prepare_error_per_mille)) {
      prepared.set_error("no port is free");
    } else {
      prepared.set_master_port(20'000 + world_->random.Below(10'000));
      prepared_[{job, generation}] = prepared;
    }
    v1::AgentMessage message;
    *message.mutable_prepared() = prepared;
    Send(std::move(message));
  });
}

void SimAgent::Launch(const v1::GangAssignment& gang) {
  if (gang.master_addr().empty() || gang.master_port() == 0) {
    world_->Fail(absl::StrCat(gang.job_id(), " is launched without a master address"));
  }
  for (const v1::LocalWorker& local : gang.workers()) {
    const Key key = {gang.job_id(), gang.generation(), local.rank()};
    if (workers_.count(key) > 0) continue;
    for (const auto& [other, running] : workers_) {
      if (running.alive && running.status.slot() == local.slot()) {
        world_->Fail(absl::StrCat("slot ", local.slot(), " of ", name_, " has a live worker of ", std::get<0>(other),
                                  "/", std::get<1>(other), " when ", gang.job_id(), "/", gang.generation(),
                                  " is launched"));
      }
    }
    SimWorker& worker = workers_[key];
    worker.spec = gang.spec();
    worker.job_uid = gang.job_uid();
    worker.world_size = gang.world_size();
    worker.restore_step = gang.restore().step();
    worker.status.set_job_id(gang.job_id());
    worker.status.set_generation(gang.generation());
    worker.status.set_rank(local.rank());
    worker.status.set_local_rank(local.local_rank());
    worker.status.set_slot(local.slot());
    worker.status.set_state(v1::STARTING);
    SendStatus(worker);
    // The process starts; from here on it is the node's, not the agent's.
    world_->loop.After(
        world_->random.Between(absl::Milliseconds(20), absl::Milliseconds(120)), [this, key, life = node_life_] {
          SimWorker* started = Find(key);
          if (life != node_life_ || started == nullptr || !started->alive) return;
          if (started->spec.has_train()) {
            // Rank 0 publishes what is committed, and clears up, before it joins.
            started->status.set_state(v1::JOINING);
            started->status.set_join_blob(absl::StrCat("blob", std::get<2>(key)));
            if (const v1::GangAssignment* now = Assigned(std::get<0>(key), std::get<1>(key));
                std::get<2>(key) == 0 && now != nullptr) {
              if (now->has_publish()) {
                world_->disk.Publish(now->job_id(), now->publish().step(), now->publish().generation(),
                                     now->publish().world_size());
              }
              world_->Log(absl::StrCat(std::get<0>(key), "/", std::get<1>(key), " rank 0 starts with ",
                                       now->publish().step(), " to publish"));
              world_->disk.RemoveAbandoned(std::get<0>(key), std::get<1>(key));
            }
          } else {
            started->status.set_state(v1::RUNNING);
            world_->loop.After(world_->random.Between(absl::Seconds(1), absl::Seconds(20)), [this, key, life] {
              if (life == node_life_) Exit(key, 0, 0, false);
            });
          }
          SendStatus(*started);
        });
  }
}

void SimAgent::Stop(const v1::GangAssignment& gang) {
  for (const v1::LocalWorker& local : gang.workers()) {
    const Key key = {gang.job_id(), gang.generation(), local.rank()};
    SimWorker* worker = Find(key);
    if (worker == nullptr || !worker->alive || worker->ending) continue;
    Kill(key, true, false);
  }
}

void SimAgent::Direct(const v1::GangAssignment& gang) {
  for (const v1::LocalWorker& local : gang.workers()) {
    SimWorker* worker = Find({gang.job_id(), gang.generation(), local.rank()});
    if (worker == nullptr) continue;
    worker->committed_step = gang.committed_step();
    worker->hold = gang.hold_at_checkpoint();
    if (worker->status.has_shard() && worker->status.shard().step() <= gang.committed_step()) {
      worker->status.clear_shard();
    }
    if (local.rank() != 0 || worker->status.state() < v1::JOINING) continue;
    if (!gang.has_publish() && gang.remove_steps().empty()) continue;
    Later(world_->Short(), [this, job = gang.job_id(), generation = gang.generation()] {
      SimWorker* rank0 = Find({job, generation, 0});
      // The worker acts on the newest word.
      const v1::GangAssignment* now = Assigned(job, generation);
      if (rank0 == nullptr || !rank0->alive || now == nullptr) return;
      const v1::GangAssignment gang = *now;
      v1::AgentMessage message;
      message.mutable_published()->set_job_id(gang.job_id());
      message.mutable_published()->set_generation(gang.generation());
      if (gang.has_publish()) {
        const v1::CheckpointManifest& m = gang.publish();
        message.mutable_published()->set_step(m.step());
        if (!world_->disk.Publish(gang.job_id(), m.step(), m.generation(), m.world_size())) {
          message.mutable_published()->set_error("the save is gone");
          world_->Fail(absl::StrCat(gang.job_id(), ": step ", m.step(), " is to be published and its save is gone"));
        }
      }
      for (int64_t step : gang.remove_steps()) {
        const bool had_any = world_->disk.HasAny(gang.job_id());
        world_->disk.Remove(gang.job_id(), step);
        if (had_any && !world_->disk.HasAny(gang.job_id())) {
          world_->Fail(absl::StrCat(gang.job_id(), ": its only checkpoint on disk, step ", step, ", was removed"));
        }
        message.mutable_published()->add_removed_steps(step);
      }
      Send(std::move(message));
    });
  }
}

void SimAgent::OnJoined(const v1::GangJoined& joined) {
  for (auto& [key, worker] : workers_) {
    if (std::get<0>(key) != joined.job_id() || std::get<1>(key) != joined.generation()) continue;
    if (!worker.alive || worker.status.state() != v1::JOINING) continue;
    if (joined.blobs_size() != worker.world_size) world_->Fail("GangJoined with another number of blobs than ranks");
    if (worker.restore_step > 0 && !world_->disk.IsPublished(joined.job_id(), worker.restore_step)) {
      world_->Fail(
          absl::StrCat(joined.job_id(), ": restores from step ", worker.restore_step, ", which is not on disk"));
    }
    worker.status.set_state(v1::RUNNING);
    SendStatus(worker);
    Mesh::Join(world_, this, key);
  }
}

void SimAgent::Kill(const Key& key, bool by_agent, bool forget) {
  SimWorker* worker = Find(key);
  if (worker == nullptr || worker->ending) return;
  worker->ending = true;
  if (!worker->alive) {
    if (forget) workers_.erase(key);
    return;
  }
  world_->loop.After(world_->random.Between(absl::Milliseconds(1), absl::Milliseconds(60)),
                     [this, key, by_agent, forget, life = node_life_] {
                       if (life != node_life_) return;
                       Exit(key, 0, 15, by_agent);
                       if (forget) workers_.erase(key);
                     });
}

void SimAgent::Exit(const Key& key, int code, int signal, bool by_agent) {
  SimWorker* worker = Find(key);
  if (worker == nullptr || !worker->alive) return;
  worker->alive = false;
  worker->status.set_state(v1::EXITED);
  worker->status.mutable_exit()->set_code(code);
  worker->status.mutable_exit()->set_signal(signal);
  worker->status.mutable_exit()->set_by_agent(by_agent);
  if (process_up_) SendStatus(*worker);
}

SimWorker* SimAgent::Find(const Key& key) {
  auto it = workers_.find(key);
  return it == workers_.end() || !node_up_ ? nullptr : &it->second;
}

void SimAgent::StepDone(const Key& key, const v1::StepMetrics& metrics) {
  SimWorker* worker = Find(key);
  if (worker == nullptr || !worker->alive) return;
  worker->unacknowledged.push_back(metrics);
  if (!process_up_) return;
  v1::AgentMessage message;
  message.mutable_progress()->set_job_id(std::get<0>(key));
  message.mutable_progress()->set_generation(std::get<1>(key));
  *message.mutable_progress()->add_steps() = metrics;
  Send(std::move(message));
}

void SimAgent::Saved(const Key& key, const v1::ShardReport& shard) {
  SimWorker* worker = Find(key);
  if (worker == nullptr || !worker->alive) return;
  world_->disk.Save(std::get<0>(key), shard.step(), std::get<1>(key), std::get<2>(key));
  *worker->status.mutable_shard() = shard;
  if (process_up_) SendStatus(*worker);
}

void SimAgent::AllStepsDone(const Key& key) {
  if (SimWorker* worker = Find(key)) worker->done = true;
}

void SimAgent::PeerLost(const Key& key, const std::string& why) {
  SimWorker* worker = Find(key);
  if (worker == nullptr || !worker->alive || worker->done) return;
  if (process_up_) {
    worker->failure.emplace();
    worker->failure->set_job_id(std::get<0>(key));
    worker->failure->set_generation(std::get<1>(key));
    worker->failure->set_rank(std::get<2>(key));
    worker->failure->set_kind(v1::PEER_LOST);
    worker->failure->set_message(why);
    v1::AgentMessage message;
    *message.mutable_failure() = *worker->failure;
    Send(std::move(message));
  }
  world_->loop.After(world_->Short(), [this, key, life = node_life_] {
    if (life == node_life_) Exit(key, 1, 0, false);
  });
}

}  // namespace muster::sim
