#include "tests/sim/simulation.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/version.h"
#include "coordinator/core/state.h"
#include "tests/sim/mesh.h"
#include "tests/sim/sim_agent.h"
#include "tests/sim/sim_coordinator.h"
#include "tests/sim/world.h"

namespace muster::sim {
namespace {

constexpr absl::Duration kFaultsLast = absl::Seconds(120);
// After the last fault all jobs end within this.
constexpr absl::Duration kQuiet = absl::Minutes(10);

class Simulation {
 public:
  Simulation(uint64_t seed, Profile profile, bool print) : world_(seed), coordinator_(&world_), profile_(profile) {
    world_.print = print;
    world_.coordinator = &coordinator_;
    result_.seed = seed;
  }

  Result Run();

 private:
  Random& random() { return world_.random; }

  struct Client {
    v1::SubmitJobRequest submit;
    std::string job;
    bool wants_cancel = false;
    bool cancelled = false;
  };

  void MakeNodes();
  void MakeClients();
  void TrySubmit(Client* client);
  void TryCancel(Client* client);
  void NextFault();
  void Fault();
  void CrashCoordinator();
  void Reload();
  void EndFaults();
  void CheckEnd();
  bool AllFinished() const;

  World world_;
  SimCoordinator coordinator_;
  const Profile profile_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<std::function<void()>> faults_;
  bool quiet_ = false;
  Result result_;
};

void Simulation::MakeNodes() {
  const int nodes = 3 + random().Below(3);
  for (int i = 1; i <= nodes; ++i) {
    world_.agents.push_back(std::make_shared<SimAgent>(&world_, i));
    SimAgent* agent = world_.agents.back().get();
    world_.loop.After(random().Between(absl::ZeroDuration(), absl::Seconds(i < 3 ? 1 : 20)),
                      [agent] { agent->StartNode(); });
  }
}

void Simulation::MakeClients() {
  const int jobs = 1 + random().Below(3);
  for (int i = 0; i < jobs; ++i) {
    auto client = std::make_unique<Client>();
    client->submit.set_protocol(kProtocolVersion);
    client->submit.set_version(kVersion);
    client->submit.set_token(absl::StrCat("token-0123456789-", i));
    v1::JobSpec* spec = client->submit.mutable_spec();
    spec->set_name(absl::StrCat("job", i));
    const int min = 1 + random().Below(2);
    spec->mutable_nodes()->set_min(min);
    spec->mutable_nodes()->set_max(min + random().Below(2));
    spec->set_slots_per_node(1 + random().Below(2));
    if (random().Chance(750)) {
      spec->mutable_train()->mutable_data()->set_train("/data");
      spec->mutable_train()->set_steps(500 + random().Below(4000));
      spec->mutable_train()->mutable_batch()->set_global(256);
      spec->mutable_checkpoint()->set_dir("/ckpt");
      spec->mutable_checkpoint()->set_every(20 + random().Below(100));
      spec->mutable_checkpoint()->set_keep(1 + random().Below(3));
    } else {
      spec->add_command("train");
    }
    client->wants_cancel = profile_ == Profile::kAny && random().Chance(150);
    Client* c = client.get();
    world_.loop.After(random().Between(absl::ZeroDuration(), absl::Seconds(30)), [this, c] { TrySubmit(c); });
    if (c->wants_cancel) {
      world_.loop.After(random().Between(absl::Seconds(1), absl::Seconds(100)), [this, c] { TryCancel(c); });
    }
    clients_.push_back(std::move(client));
  }
}

// Repeats until there is an answer: the same token is the same job.
void Simulation::TrySubmit(Client* client) {
  if (!client->job.empty()) return;
  if (coordinator_.up()) {
    coordinator_.Submit(client->submit, [this, client](const absl::StatusOr<v1::JobView>& view) {
      if (!view.ok()) {
        world_.Fail(absl::StrCat("submit was refused: ", view.status().ToString()));
        return;
      }
      if (!client->job.empty() && client->job != view->job_id()) world_.Fail("one token gave two jobs");
      client->job = view->job_id();
    });
  }
  world_.loop.After(absl::Seconds(1), [this, client] { TrySubmit(client); });
}

void Simulation::TryCancel(Client* client) {
  if (client->cancelled) return;
  if (coordinator_.up() && !client->job.empty()) {
    coordinator_.Cancel(client->job, [client](const absl::StatusOr<v1::JobView>& view) {
      // Finished before: so be it.
      client->cancelled = view.ok() || absl::IsFailedPrecondition(view.status());
    });
  }
  world_.loop.After(absl::Seconds(1), [this, client] { TryCancel(client); });
}

void Simulation::CrashCoordinator() {
  const auto crash = [this, commit_first = random().Chance(500)] {
    if (!coordinator_.up() || quiet_) return;
    coordinator_.CheckReload();
    coordinator_.Crash(commit_first);
    world_.loop.After(random().Between(absl::Milliseconds(50), absl::Seconds(random().Chance(200) ? 8 : 1)), [this] {
      if (!coordinator_.up()) coordinator_.Start();
    });
  };
  // Most harm is done in the middle of something.
  if (random().Chance(500)) {
    coordinator_.CrashAtDecision(crash);
  } else {
    crash();
  }
}

void Simulation::NextFault() {
  if (quiet_ || faults_.empty()) return;
  world_.loop.After(random().Between(absl::Milliseconds(50), absl::Seconds(12)), [this] {
    if (quiet_) return;
    ++result_.faults;
    Fault();
    // Troubles come in company.
    while (random().Chance(250)) {
      ++result_.faults;
      Fault();
    }
    NextFault();
  });
}

void Simulation::Fault() { faults_[random().Below(static_cast<int>(faults_.size()))](); }

Result Simulation::Run() {
  coordinator_.Start();
  MakeNodes();
  MakeClients();
  const auto any = [this]() -> SimAgent* {
    return world_.agents[random().Below(static_cast<int>(world_.agents.size()))].get();
  };
  const bool gentle = profile_ != Profile::kAny;
  std::vector<std::function<void()>> all;
  if (profile_ != Profile::kAgentRestarts) all.push_back([this] { CrashCoordinator(); });
  if (profile_ != Profile::kCoordinatorRestarts) {
    all.push_back([this, any, gentle] {
      SimAgent* agent = any();
      // Gentle: back well within its lease.
      if (gentle && !agent->running()) return;
      agent->KillAgent();
      const absl::Duration down =
          random().Between(absl::Milliseconds(50), gentle ? absl::Seconds(1) : absl::Seconds(8));
      world_.loop.After(down, [agent] { agent->StartAgent(); });
    });
    all.push_back([any] { any()->BreakStream(); });
  }
  if (!gentle) {
    all.push_back([any] { any()->KillWorker(); });
    all.push_back([any] { any()->KillWorker(); });
    all.push_back([this, any] {
      SimAgent* agent = any();
      agent->KillNode(random().Chance(500));
      world_.loop.After(random().Between(absl::Milliseconds(300), absl::Seconds(20)), [agent] { agent->StartNode(); });
    });
    all.push_back([this, any] {
      SimAgent* agent = any();
      agent->Partition();
      world_.loop.After(random().Between(absl::Milliseconds(300), absl::Seconds(10)), [agent] { agent->Heal(); });
    });
    all.push_back([this] {
      coordinator_.Pause();
      world_.loop.After(random().Between(absl::Milliseconds(100), absl::Seconds(5)), [this] { coordinator_.Resume(); });
    });
    if (random().Chance(300)) {
      for (auto& agent : world_.agents) agent->prepare_error_per_mille = 30;
    }
  }
  // Each seed has its own mixture.
  for (std::function<void()>& fault : all) {
    if (gentle || random().Chance(600)) faults_.push_back(fault);
  }
  NextFault();
  Reload();

  const auto failed = [this] { return world_.failure.has_value(); };
  world_.loop.Run(world_.loop.now() + kFaultsLast, failed);
  EndFaults();
  const absl::Time end = world_.loop.now() + kQuiet;
  while (!failed() && world_.loop.now() < end && !AllFinished()) {
    world_.loop.Run(world_.loop.now() + absl::Seconds(1), failed);
  }
  // What is finished leaves nothing behind.
  world_.loop.Run(world_.loop.now() + absl::Seconds(5), failed);
  coordinator_.CheckReload();
  if (!failed()) CheckEnd();
  result_.ok = !failed();
  if (failed()) result_.what = *world_.failure;
  result_.log = std::move(world_.log);
  return std::move(result_);
}

void Simulation::Reload() {
  coordinator_.CheckReload();
  world_.loop.After(absl::Seconds(20), [this] { Reload(); });
}

void Simulation::EndFaults() {
  quiet_ = true;
  world_.Log("the faults are over");
  coordinator_.Resume();
  if (!coordinator_.up() && !world_.failure.has_value()) coordinator_.Start();
  for (auto& agent : world_.agents) {
    agent->prepare_error_per_mille = 0;
    agent->Heal();
    agent->StartNode();
    agent->StartAgent();
  }
}

bool Simulation::AllFinished() const {
  if (!coordinator_.up()) return false;
  for (const auto& client : clients_) {
    if (client->job.empty() || (client->wants_cancel && !client->cancelled)) return false;
  }
  return coordinator_.state().unfinished.empty();
}

void Simulation::CheckEnd() {
  const coordinator::State& state = coordinator_.state();
  if (state.jobs.size() != clients_.size()) {
    world_.Fail(absl::StrCat(state.jobs.size(), " jobs for ", clients_.size(), " submissions"));
  }
  result_.jobs = static_cast<int>(state.jobs.size());
  for (const auto& client : clients_) {
    if (client->job.empty()) {
      world_.Fail("a submission was never answered");
      return;
    }
    const coordinator::Job& job = state.jobs.at(JobId(client->job));
    result_.generations += static_cast<int>(job.record.generation());
    const bool well =
        job.record.state() == v1::SUCCEEDED || (client->wants_cancel && job.record.state() == v1::CANCELLED);
    if (!well) {
      world_.Fail(absl::StrCat(client->job, " is ", v1::JobState_Name(job.record.state()),
                               " in the end: ", job.record.reason()));
    }
    if (job.gang.has_value()) world_.Fail(absl::StrCat(client->job, " has a gang after its end"));
    // Restarts of coordinator and agents are no failures.
    if (profile_ != Profile::kAny && job.record.restarts().total() > 0) {
      world_.Fail(absl::StrCat(client->job, " was restarted though nothing happened to its workers"));
    }
    const int64_t last = job.record.spec().train().steps();
    if (job.record.state() == v1::SUCCEEDED && last > 0) {
      const auto kept = job.checkpoints.find(last);
      if (kept == job.checkpoints.end() || !kept->second.published() || !world_.disk.IsPublished(client->job, last)) {
        world_.Fail(absl::StrCat(client->job, " succeeded without its last checkpoint"));
      }
    }
  }
}

}  // namespace

Result Simulate(uint64_t seed, Profile profile, bool print) { return Simulation(seed, profile, print).Run(); }

}  // namespace muster::sim
