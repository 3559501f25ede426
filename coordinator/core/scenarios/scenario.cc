#include "coordinator/core/scenarios/scenario.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/proto_time.h"
#include "common/status_macros.h"
#include "common/version.h"
#include "coordinator/core/core.h"
#include "coordinator/core/scenarios/command.h"
#include "coordinator/core/scenarios/effect_printer.h"
#include "coordinator/core/scenarios/scripted_agent.h"
#include "coordinator/core/views.h"

namespace muster::coordinator {
namespace {

constexpr absl::Duration kHeartbeat = absl::Milliseconds(500);

v1::JobSpec SpecOf(const Command& command) {
  v1::JobSpec spec;
  spec.set_name(command.words.at(0));
  const std::vector<std::string> nodes = absl::StrSplit(command.Text("nodes", "1"), "..");
  spec.mutable_nodes()->set_min(std::stoi(nodes.front()));
  spec.mutable_nodes()->set_max(std::stoi(nodes.back()));
  if (command.Has("slots")) spec.set_slots_per_node(static_cast<int>(command.Number("slots", 1)));
  if (command.Flag("gpu")) spec.set_device(v1::GPU);
  if (command.Flag("command")) {
    spec.add_command("/bin/train");
  } else {
    spec.mutable_train()->set_steps(command.Number("steps", 1000));
    spec.mutable_train()->mutable_data()->set_train("/data/train.bin");
    spec.mutable_checkpoint()->set_dir("/ckpt");
    if (command.Has("every")) spec.mutable_checkpoint()->set_every(command.Number("every", 100));
    if (command.Has("keep")) spec.mutable_checkpoint()->set_keep(static_cast<int>(command.Number("keep", 3)));
  }
  if (command.Has("user")) spec.mutable_restarts()->set_user(static_cast<int>(command.Number("user", 3)));
  return spec;
}

class Runner {
 public:
  Runner() { Load(); }

  absl::Status Do(const Command& command);
  std::vector<std::string> TakeOutput() { return std::move(output_); }
  double Seconds() const { return absl::ToDoubleSeconds(now_ - kStart); }

 private:
  static constexpr absl::Time kStart = absl::FromUnixSeconds(1'700'000'000);

  void Load() {
    Effects effects;
    absl::StatusOr<std::unique_ptr<Core>> core = Core::Load({}, records_, now_, "cluster", &effects);
    if (!core.ok()) {
      output_.push_back(absl::StrCat("load ", core.status().ToString()));
      return;
    }
    core_ = *std::move(core);
    Apply(effects);
  }

  void Step(const Event& event) { Apply(core_->Step(event, now_)); }

  void Apply(const Effects& effects) {
    for (const Effects::Put& put : effects.puts) records_[put.key] = put.value;
    for (const std::string& key : effects.deletes) records_.erase(key);
    const auto node_of = [&](SessionId session) { return names_[session]; };
    for (std::string& line : PrintEffects(effects, node_of)) output_.push_back(std::move(line));
    for (const Effects::Send& send : effects.sends) agents_.at(names_[send.session]).Receive(send.message);
    for (const Effects::EndSession& end : effects.end_sessions) {
      ScriptedAgent& agent = agents_.at(names_[end.session]);
      if (agent.session == end.session) agent.session.reset();
    }
  }

  ScriptedAgent& AgentOf(const std::string& node) { return agents_.try_emplace(node, node).first->second; }

  void Register(const Command& command) {
    const std::string& node = command.words.at(0);
    ScriptedAgent& agent = AgentOf(node);
    const SessionId session(++last_session_);
    names_[session] = node;
    const int number = static_cast<int>(std::distance(agents_.begin(), agents_.find(node))) + 1;
    v1::Register registration = agent.Registration(command, number);
    if (registration.node_id() == node) agent.session = session;
    Step(AgentConnected{session, std::move(registration)});
  }

  // Time goes on; live agents send heartbeats, the core is woken when it asked to be.
  void Wait(absl::Duration d) {
    const absl::Time end = now_ + d;
    while (now_ < end) {
      const absl::Time next = std::min({end, core_->NextDeadline(), next_heartbeat_});
      now_ = std::max(now_, next);
      if (now_ >= next_heartbeat_) {
        next_heartbeat_ = now_ + kHeartbeat;
        Heartbeats();
      }
      if (core_->NextDeadline() <= now_) {
        const size_t before = output_.size();
        Step(TimePassed{});
        if (core_->NextDeadline() <= now_) output_.push_back("!! the core wants to be woken at once, for ever");
        if (output_.size() > before) {
          output_.insert(output_.begin() + before, absl::StrFormat("-- at %.3f", Seconds()));
        }
      }
    }
  }

  void Heartbeats() {
    for (auto& [node, agent] : agents_) {
      if (!agent.session.has_value() || agent.mute) continue;
      v1::AgentMessage message;
      message.mutable_heartbeat()->set_seq(++heartbeat_);
      Effects effects = core_->Step(AgentSaid{*agent.session, message}, now_);
      // Its acknowledgement is not worth a line.
      effects.sends.erase(std::remove_if(effects.sends.begin(), effects.sends.end(),
                                         [](const Effects::Send& s) { return s.message.has_heartbeat_ack(); }),
                          effects.sends.end());
      Apply(effects);
    }
  }

  void Show(const Command& command) {
    const State& state = core_->state();
    for (const v1::JobView& job : ViewsOfJobs(state, false)) {
      output_.push_back(absl::StrCat("job ", job.job_id(), " ", v1::JobState_Name(job.state()), " step ", job.step(),
                                     " committed ", job.committed_step(), " generation ", job.generation(), " on ",
                                     job.nodes(), " nodes: ", job.reason()));
    }
    for (const v1::NodeView& node : ViewsOfNodes(state)) {
      output_.push_back(absl::StrCat("node ", node.node_id(), " ", v1::NodeState_Name(node.state()), " slots in use ",
                                     node.slots_in_use_size(), " of ", node.slots_size(), " jobs ",
                                     absl::StrJoin(node.jobs(), ","), ": ", node.reason()));
    }
  }

  absl::Time now_ = kStart;
  absl::Time next_heartbeat_ = kStart + kHeartbeat;
  uint64_t heartbeat_ = 0;
  uint64_t last_session_ = 0;
  uint64_t last_request_ = 0;
  std::map<std::string, std::string> records_;
  std::unique_ptr<Core> core_;
  std::map<std::string, ScriptedAgent> agents_;
  std::map<SessionId, std::string> names_;
  std::vector<std::string> output_;
};

absl::Status Runner::Do(const Command& command) {
  const std::string& verb = command.verb;
  if (verb == "register") {
    Register(command);
  } else if (verb == "submit") {
    v1::SubmitJobRequest submit;
    submit.set_protocol(static_cast<int>(command.Number("protocol", kProtocolVersion)));
    submit.set_version(command.Text("version", kVersion));
    submit.set_token(command.Text("token", absl::StrCat("token-of-", command.words.at(0), "-0123456789")));
    *submit.mutable_spec() = SpecOf(command);
    Step(ClientSubmitted{RequestId(++last_request_), std::move(submit)});
  } else if (verb == "cancel") {
    Step(ClientCancelled{RequestId(++last_request_), command.words.at(0)});
  } else if (verb == "disconnect") {
    ScriptedAgent& agent = agents_.at(command.words.at(0));
    const SessionId session = *agent.session;
    agent.session.reset();
    Step(AgentDisconnected{session, command.Text("why", "connection closed")});
  } else if (verb == "mute") {
    agents_.at(command.words.at(0)).mute = true;
  } else if (verb == "unmute") {
    agents_.at(command.words.at(0)).mute = false;
  } else if (verb == "wait") {
    absl::Duration d;
    if (!absl::ParseDuration(command.words.at(0), &d)) return absl::InvalidArgumentError("wait takes a duration");
    Wait(d);
  } else if (verb == "stall") {
    // The coordinator itself stands still.
    absl::Duration d;
    if (!absl::ParseDuration(command.words.at(0), &d)) return absl::InvalidArgumentError("stall takes a duration");
    now_ += d;
    Step(TimePassed{});
  } else if (verb == "restart") {
    for (auto& [node, agent] : agents_) agent.session.reset();
    Load();
  } else if (verb == "schema") {
    v1::StoredCluster cluster;
    cluster.ParseFromString(records_.at("cluster"));
    cluster.set_schema_version(static_cast<int>(std::stoi(command.words.at(0))));
    records_["cluster"] = cluster.SerializeAsString();
  } else if (verb == "damage") {
    records_.at(command.words.at(0)) = "\xff\xff";
  } else if (verb == "show") {
    Show(command);
  } else if (verb == "prepared" || verb == "started" || verb == "joined" || verb == "running" || verb == "exit" ||
             verb == "fails" || verb == "progress" || verb == "shard" || verb == "published") {
    for (const std::string& node : command.words) {
      auto agent = agents_.find(node);
      if (agent == agents_.end()) continue;  // a flag
      if (!agent->second.session.has_value()) return absl::InvalidArgumentError(absl::StrCat(node, " has no session"));
      for (v1::AgentMessage& message : agent->second.Say(command)) {
        Step(AgentSaid{*agent->second.session, std::move(message)});
      }
    }
  } else {
    return absl::InvalidArgumentError(absl::StrCat("there is no command '", verb, "'"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> RunScenario(const std::string& text) {
  Runner runner;
  runner.TakeOutput();
  std::string out;
  int number = 0;
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  for (const std::string& line : lines) {
    ++number;
    if (line.rfind("  ", 0) == 0) continue;  // what the core did the last time
    if (line.rfind("> ", 0) != 0) {
      absl::StrAppend(&out, line, "\n");
      continue;
    }
    absl::StrAppend(&out, line, "\n");
    absl::Status status = runner.Do(ParseCommand(line.substr(2)));
    if (!status.ok()) return absl::InvalidArgumentError(absl::StrCat("line ", number, ": ", status.message()));
    for (const std::string& effect : runner.TakeOutput()) absl::StrAppend(&out, "  ", effect, "\n");
  }
  while (out.size() > 1 && out[out.size() - 2] == '\n') out.pop_back();
  return out;
}

}  // namespace muster::coordinator
