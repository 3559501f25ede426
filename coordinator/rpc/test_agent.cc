#include "coordinator/rpc/test_agent.h"

#include "absl/strings/str_cat.h"
#include "common/version.h"

namespace muster::coordinator {
namespace {

const v1::GangAssignment* GangIn(const v1::CoordinatorMessage& message, v1::GangPhase phase) {
  for (const v1::GangAssignment& gang : message.desired().gangs()) {
    if (gang.phase() == phase) return &gang;
  }
  return nullptr;
}

}  // namespace

v1::Register TestRegistration(const std::string& node, const std::string& uid) {
  v1::Register registration;
  registration.set_protocol(kProtocolVersion);
  registration.set_version(kVersion);
  registration.set_node_id(node);
  registration.set_agent_uid(uid);
  registration.set_incarnation("1");
  registration.set_address("127.0.0.1");
  registration.add_slots()->set_device(v1::CPU);
  return registration;
}

TestAgent::TestAgent(int port) {
  grpc::ChannelArguments arguments;
  // Its own connection, as another process has.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  stub_ = v1::AgentService::NewStub(
      grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials(), arguments));
  stream_ = stub_->Session(&context_);
}

TestAgent::~TestAgent() { context_.TryCancel(); }

bool TestAgent::Register(const v1::Register& registration) {
  v1::AgentMessage message;
  *message.mutable_register_() = registration;
  v1::CoordinatorMessage reply;
  return Send(message) && Receive(&reply) && reply.has_welcome();
}

bool TestAgent::ReceiveUntil(const std::function<bool(const v1::CoordinatorMessage&)>& wanted,
                             v1::CoordinatorMessage* message) {
  while (Receive(message)) {
    if (wanted(*message)) return true;
  }
  return false;
}

v1::GangAssignment TestAgent::RunNextJob(int exit_code, const std::function<void(const v1::GangAssignment&)>& running) {
  v1::CoordinatorMessage message;
  if (!ReceiveUntil([](const auto& m) { return GangIn(m, v1::PREPARE) != nullptr; }, &message)) return {};
  v1::AgentMessage prepared;
  prepared.mutable_prepared()->set_job_id(GangIn(message, v1::PREPARE)->job_id());
  prepared.mutable_prepared()->set_generation(GangIn(message, v1::PREPARE)->generation());
  prepared.mutable_prepared()->set_master_port(12345);
  Send(prepared);

  if (!ReceiveUntil([](const auto& m) { return GangIn(m, v1::LAUNCH) != nullptr; }, &message)) return {};
  const v1::GangAssignment gang = *GangIn(message, v1::LAUNCH);
  const auto say = [&](v1::WorkerState state) {
    for (const v1::LocalWorker& local : gang.workers()) {
      v1::AgentMessage update;
      v1::WorkerStatus* worker = update.mutable_worker();
      worker->set_job_id(gang.job_id());
      worker->set_generation(gang.generation());
      worker->set_rank(local.rank());
      worker->set_local_rank(local.local_rank());
      worker->set_slot(local.slot());
      worker->set_state(state);
      if (state == v1::EXITED) worker->mutable_exit()->set_code(exit_code);
      Send(update);
    }
  };
  say(v1::RUNNING);
  running(gang);
  say(v1::EXITED);
  return gang;
}

}  // namespace muster::coordinator
