// The agent's program, and the shim's, against a fake coordinator, with shell scripts for workers.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>

#include "absl/strings/str_cat.h"
#include "agent/rpc/fake_coordinator.h"
#include "common/proto_time.h"
#include "common/version.h"
#include "proto/worker.grpc.pb.h"

namespace muster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr int kDeadlineMillis = 60'000;
// Long, so that a loaded machine does not lose it by chance.
constexpr absl::Duration kLongLease = absl::Seconds(30);

std::string Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

bool Await(const std::function<bool()>& ready) {
  for (int waited = 0; waited < kDeadlineMillis; waited += 5) {
    if (ready()) return true;
    ::poll(nullptr, 0, 5);
  }
  return ready();
}

bool Alive(pid_t pid) {
  const std::string stat = Read(absl::StrCat("/proc/", pid, "/stat"));
  return !stat.empty() && stat.find(") Z ") == std::string::npos;
}

class AgentProcess : public ::testing::Test {
 protected:
  AgentProcess() {
    // Not under TempDir: a sandbox's path is too long for a socket.
    char dir[] = "/tmp/muster-agent-test.XXXXXX";
    dir_ = ::mkdtemp(dir);
  }
  ~AgentProcess() override {
    if (agent_ > 0) {
      ::kill(agent_, SIGKILL);
      ::waitpid(agent_, nullptr, 0);
    }
    [[maybe_unused]] const int rc = std::system(absl::StrCat("rm -rf ", dir_).c_str());
  }

  void StartAll(absl::Duration lease = kLongLease) {
    coordinator_ = std::make_unique<FakeCoordinator>(lease);
    coordinator_->Start();
    StartAgent();
    ASSERT_TRUE(coordinator_->WaitRegistration(1).has_value()) << Read(dir_ + "/agent.log");
  }

  pid_t Spawn(const std::vector<std::string>& extra = {}, const std::string& log = "agent.log") {
    const std::string bin = absl::StrCat(::getenv("TEST_SRCDIR"), "/muster/agent/");
    std::vector<std::string> args = {bin + "muster-agent",
                                     "--coordinator",
                                     absl::StrCat("127.0.0.1:", coordinator_->port()),
                                     "--state_dir",
                                     dir_ + state_dir_,
                                     "--node_id",
                                     "n1",
                                     "--gpus",
                                     "none",
                                     "--cpu_slots",
                                     "2",
                                     "--shim",
                                     bin + "shim/muster-shim",
                                     "--worker",
                                     dir_ + "/trainer"};
    args.insert(args.end(), extra.begin(), extra.end());
    std::vector<char*> argv;
    for (std::string& arg : args) argv.push_back(arg.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 2, absl::StrCat(dir_, "/", log).c_str(), O_WRONLY | O_CREAT | O_APPEND,
                                     0644);
    pid_t pid = -1;
    EXPECT_EQ(::posix_spawn(&pid, argv[0], &files, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&files);
    return pid;
  }
  void StartAgent() { agent_ = Spawn(); }
  void KillAgent() {
    ::kill(agent_, SIGKILL);
    ::waitpid(agent_, nullptr, 0);
    agent_ = -1;
  }
  int WaitExit(pid_t pid) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  // A gang of one command on this node alone.
  v1::GangAssignment Gang(uint64_t generation, v1::GangPhase phase, const std::vector<std::string>& command,
                          int workers = 1) {
    v1::GangAssignment gang;
    gang.set_job_id("j-1");
    gang.set_generation(generation);
    gang.set_phase(phase);
    for (const std::string& word : command) gang.mutable_spec()->add_command(word);
    if (command.empty()) gang.mutable_spec()->mutable_train();
    *gang.mutable_spec()->mutable_grace() = ToProto(absl::Seconds(30));
    gang.set_world_size(workers);
    gang.set_node_count(1);
    gang.set_master_addr("127.0.0.1");
    for (int i = 0; i < workers; ++i) {
      v1::LocalWorker* worker = gang.add_workers();
      worker->set_rank(i);
      worker->set_local_rank(i);
      worker->set_slot(i);
    }
    return gang;
  }
  // PREPARE, LAUNCH, until it was told that it runs. The port it was given.
  int Launch(uint64_t generation, const std::vector<std::string>& command, int workers = 1) {
    EXPECT_TRUE(coordinator_->Desire({Gang(generation, v1::PREPARE, command, workers)}));
    const auto prepared = coordinator_->WaitMessage(
        [&](const v1::AgentMessage& m) { return m.has_prepared() && m.prepared().generation() == generation; });
    if (!prepared) return -1;
    EXPECT_EQ(prepared->prepared().error(), "");
    v1::GangAssignment gang = Gang(generation, v1::LAUNCH, command, workers);
    gang.set_master_port(prepared->prepared().master_port());
    EXPECT_TRUE(coordinator_->Desire({gang}));
    return prepared->prepared().master_port();
  }
  static std::vector<std::string> Script(const std::string& text) { return {"/bin/sh", "-c", text}; }

  std::string dir_;
  std::string state_dir_ = "/s";
  std::unique_ptr<FakeCoordinator> coordinator_;
  pid_t agent_ = -1;
};

TEST_F(AgentProcess, Command_RunsInItsPlaceAndItsExitAndLogsAreTold) {
  StartAll();
  const int port = Launch(1, Script("echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $GROUP_RANK "
                                    "$MASTER_ADDR:$MASTER_PORT $OMP_NUM_THREADS $MUSTER_JOB_ID; pwd; exit 3"));
  EXPECT_GE(port, 20000);
  EXPECT_LE(port, 29999);
  const auto exited = coordinator_->WaitWorker(v1::EXITED);
  ASSERT_TRUE(exited.has_value());
  EXPECT_EQ(exited->exit().code(), 3);
  EXPECT_EQ(exited->exit().signal(), 0);
  EXPECT_FALSE(exited->exit().by_agent());
  EXPECT_GT(exited->pid(), 0);
  const std::string line = absl::StrCat("0/1 0/1 0 127.0.0.1:", port, " 1 j-1");
  EXPECT_THAT(exited->exit().last_lines(), ElementsAre(line, dir_ + "/s/workers/j-1.1.0/scratch"));
  const auto log = coordinator_->WaitLog("j-1.1.0");
  ASSERT_TRUE(log.has_value());
  EXPECT_THAT(*log, HasSubstr("Z stdout F " + line + "\n"));
  EXPECT_EQ(*log, Read(dir_ + "/s/workers/j-1.1.0/log"));
}

TEST_F(AgentProcess, CommandNotFound_IsAStartError) {
  StartAll();
  Launch(1, {"no-such-program"});
  const auto exited = coordinator_->WaitWorker(v1::EXITED);
  ASSERT_TRUE(exited.has_value());
  EXPECT_THAT(exited->exit().start_error(), HasSubstr("'no-such-program': No such file or directory"));
}

TEST_F(AgentProcess, PortTaken_IsAPortConflict) {
  StartAll();
  Launch(1, Script("echo 'OSError: [Errno 98] Address already in use' >&2; exit 1"));
  const auto exited = coordinator_->WaitWorker(v1::EXITED);
  ASSERT_TRUE(exited.has_value());
  EXPECT_TRUE(exited->exit().port_conflict());
}

TEST_F(AgentProcess, Port_IsHeldUntilLaunchAndThenFree) {
  StartAll();
  const auto command = Script("sleep 1000");
  ASSERT_TRUE(coordinator_->Desire({Gang(1, v1::PREPARE, command)}));
  const auto prepared = coordinator_->WaitMessage([](const v1::AgentMessage& m) { return m.has_prepared(); });
  ASSERT_TRUE(prepared.has_value());
  const auto bind_port = [&] {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(prepared->prepared().master_port());
    const bool bound = ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    ::close(fd);
    return bound;
  };
  EXPECT_FALSE(bind_port());
  ASSERT_TRUE(coordinator_->Desire({Gang(1, v1::LAUNCH, command)}));
  ASSERT_TRUE(coordinator_->WaitWorker(v1::RUNNING).has_value());
  EXPECT_TRUE(bind_port());
}

TEST_F(AgentProcess, TrainerNotThere_PrepareSaysSo) {
  StartAll();
  ASSERT_TRUE(coordinator_->Desire({Gang(1, v1::PREPARE, {})}));
  const auto prepared = coordinator_->WaitMessage([](const v1::AgentMessage& m) { return m.has_prepared(); });
  ASSERT_TRUE(prepared.has_value());
  EXPECT_THAT(prepared->prepared().error(), HasSubstr("/trainer cannot be run: No such file or directory"));
}

TEST_F(AgentProcess, Fence_KillsTheTreeBeforeTheNextGenerationIsPrepared) {
  StartAll();
  Launch(1, Script("trap '' TERM; setsid sleep 1000 & echo $! > " + dir_ + "/pid; wait"));
  const auto running = coordinator_->WaitWorker(v1::RUNNING);
  ASSERT_TRUE(running.has_value());
  ASSERT_TRUE(Await([&] { return Read(dir_ + "/pid").find('\n') != std::string::npos; }));
  ASSERT_TRUE(coordinator_->Desire({Gang(2, v1::PREPARE, Script("true"))}));
  const auto prepared = coordinator_->WaitMessage(
      [](const v1::AgentMessage& m) { return m.has_prepared() && m.prepared().generation() == 2; });
  ASSERT_TRUE(prepared.has_value());
  EXPECT_EQ(prepared->prepared().error(), "");
  EXPECT_FALSE(Alive(running->pid()));
  EXPECT_FALSE(Alive(std::atoi(Read(dir_ + "/pid").c_str())));
}

TEST_F(AgentProcess, Stop_GivesTheWorkerItsGrace) {
  StartAll();
  const auto command = Script("trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 0.01; done");
  Launch(1, command);
  ASSERT_TRUE(coordinator_->WaitLogHas("j-1.1.0", "ready"));
  ASSERT_TRUE(coordinator_->Desire({Gang(1, v1::STOP, command)}));
  const auto exited = coordinator_->WaitWorker(v1::EXITED);
  ASSERT_TRUE(exited.has_value());
  EXPECT_EQ(exited->exit().code(), 0);
  EXPECT_TRUE(exited->exit().by_agent());
  EXPECT_THAT(exited->exit().last_lines(), ElementsAre("ready", "saved"));
}

TEST_F(AgentProcess, TrainersCalls_HelloJoinReport) {
  StartAll();
  std::ofstream(dir_ + "/trainer") << "#!/bin/sh\nsleep 1000\n";
  ::chmod((dir_ + "/trainer").c_str(), 0755);
  Launch(1, {});
  const auto stub = v1::WorkerService::NewStub(
      grpc::CreateChannel("unix:" + dir_ + "/s/agent.sock", grpc::InsecureChannelCredentials()));
  v1::WorkerRef ref;
  ref.set_job_id("j-1");
  ref.set_generation(1);
  {
    v1::HelloRequest request;
    *request.mutable_worker() = ref;
    request.set_protocol(kProtocolVersion);
    v1::HelloReply reply;
    grpc::ClientContext context;
    ASSERT_TRUE(Await([&] {
      grpc::ClientContext again;
      return stub->Hello(&again, request, &reply).ok();  // LAUNCH may not be there yet
    }));
    EXPECT_EQ(reply.world_size(), 1);
    EXPECT_EQ(reply.address(), "127.0.0.1");
    EXPECT_GE(reply.workers_on_host(), 1);
  }
  std::thread joiner([&] {
    v1::JoinRequest request;
    *request.mutable_worker() = ref;
    request.set_blob("me");
    v1::JoinReply reply;
    grpc::ClientContext context;
    EXPECT_TRUE(stub->Join(&context, request, &reply).ok());
    EXPECT_THAT(reply.blobs(), ElementsAre("me"));
  });
  EXPECT_TRUE(coordinator_->WaitWorker(v1::JOINING).has_value());
  v1::CoordinatorMessage joined;
  joined.mutable_joined()->set_job_id("j-1");
  joined.mutable_joined()->set_generation(1);
  joined.mutable_joined()->add_blobs("me");
  EXPECT_TRUE(coordinator_->Send(joined));
  joiner.join();
  v1::ReportRequest request;
  *request.mutable_worker() = ref;
  request.add_steps()->set_step(1);
  v1::ReportReply reply;
  {
    grpc::ClientContext context;
    EXPECT_TRUE(stub->Report(&context, request, &reply).ok());
  }
  const auto progress = coordinator_->WaitMessage([](const v1::AgentMessage& m) { return m.has_progress(); });
  ASSERT_TRUE(progress.has_value());
  EXPECT_EQ(progress->progress().steps(0).step(), 1);
  EXPECT_TRUE(coordinator_->WaitWorker(v1::RUNNING).has_value());
  request.mutable_worker()->set_generation(0);
  grpc::ClientContext context;
  EXPECT_EQ(stub->Report(&context, request, &reply).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_F(AgentProcess, AgentKilled_ItsSuccessorFindsTheWorkerRunning) {
  StartAll();
  const auto command = Script("echo before; while [ ! -e " + dir_ + "/end ]; do sleep 0.01; done; echo after; exit 9");
  Launch(1, command);
  const auto running = coordinator_->WaitWorker(v1::RUNNING);
  ASSERT_TRUE(running.has_value());
  KillAgent();
  EXPECT_TRUE(Alive(running->pid()));
  StartAgent();
  const auto registration = coordinator_->WaitRegistration(2);
  ASSERT_TRUE(registration.has_value());
  ASSERT_EQ(registration->workers_size(), 1);
  EXPECT_EQ(registration->workers(0).pid(), running->pid());
  EXPECT_EQ(registration->workers(0).state(), v1::RUNNING);
  ASSERT_TRUE(coordinator_->Desire({Gang(1, v1::LAUNCH, command)}));
  std::ofstream(dir_ + "/end") << "x";
  const auto exited = coordinator_->WaitWorker(v1::EXITED);
  ASSERT_TRUE(exited.has_value());
  EXPECT_EQ(exited->exit().code(), 9);
  const auto log = coordinator_->WaitLog("j-1.1.0");
  ASSERT_TRUE(log.has_value());
  EXPECT_EQ(*log, Read(dir_ + "/s/workers/j-1.1.0/log"));
  EXPECT_THAT(*log, HasSubstr("F before\n"));
  EXPECT_THAT(*log, EndsWith("F after\n"));
}

TEST_F(AgentProcess, WorkerExitsWhileNoAgentIsThere_SuccessorTellsHow) {
  StartAll();
  Launch(1, Script("while [ ! -e " + dir_ + "/end ]; do sleep 0.01; done; kill -ABRT $$"));
  ASSERT_TRUE(coordinator_->WaitWorker(v1::RUNNING).has_value());
  KillAgent();
  std::ofstream(dir_ + "/end") << "x";
  ASSERT_TRUE(Await([&] { return !Read(dir_ + "/s/workers/j-1.1.0/exit").empty(); }));
  StartAgent();
  const auto registration = coordinator_->WaitRegistration(2);
  ASSERT_TRUE(registration.has_value());
  ASSERT_EQ(registration->workers_size(), 1);
  // Told with the registration, or at once after it if its shim was still there to be asked.
  v1::WorkerStatus status = registration->workers(0);
  if (status.state() != v1::EXITED) status = coordinator_->WaitWorker(v1::EXITED).value_or(v1::WorkerStatus());
  EXPECT_EQ(status.exit().signal(), SIGABRT);
}

TEST_F(AgentProcess, SuccessorIsNotWantedToRunIt_KillsIt) {
  StartAll();
  Launch(1, Script("sleep 1000"));
  const auto running = coordinator_->WaitWorker(v1::RUNNING);
  ASSERT_TRUE(running.has_value());
  KillAgent();
  StartAgent();
  ASSERT_TRUE(coordinator_->WaitRegistration(2).has_value());
  ASSERT_TRUE(coordinator_->Desire({}));
  EXPECT_TRUE(Await([&] { return !Alive(running->pid()); }));
}

TEST_F(AgentProcess, ShimKilled_WorkerAndItsChildrenAreKilledAndTold) {
  StartAll();
  Launch(1, Script("setsid sleep 1000 & echo $! > " + dir_ + "/pid; wait"));
  ASSERT_TRUE(coordinator_->WaitWorker(v1::RUNNING).has_value());
  ASSERT_TRUE(Await([&] { return Read(dir_ + "/pid").find('\n') != std::string::npos; }));
  const std::string info = Read(dir_ + "/s/workers/j-1.1.0/info");
  ::kill(std::atoi(info.substr(info.find("shim_pid=") + 9).c_str()), SIGKILL);
  const auto exited = coordinator_->WaitWorker(v1::EXITED);
  ASSERT_TRUE(exited.has_value());
  EXPECT_EQ(exited->exit().signal(), SIGKILL);
  EXPECT_FALSE(exited->exit().by_agent());
  EXPECT_FALSE(Alive(std::atoi(Read(dir_ + "/pid").c_str())));
}

TEST_F(AgentProcess, CoordinatorRestarts_WorkersGoOnAndLogsAreWhole) {
  // Connections are refused for longer than the lease.
  StartAll(absl::Seconds(2));
  const auto command =
      Script("i=0; while [ ! -e " + dir_ + "/end ]; do i=$((i+1)); echo line $i; sleep 0.01; done; echo last");
  Launch(1, command);
  const auto running = coordinator_->WaitWorker(v1::RUNNING);
  ASSERT_TRUE(running.has_value());
  ASSERT_TRUE(coordinator_->WaitLogHas("j-1.1.0", "line 20\n"));
  coordinator_->Stop();
  coordinator_->ForgetLogsBeyond(100);
  const std::string log_path = dir_ + "/s/workers/j-1.1.0/log";
  ASSERT_TRUE(Await([&] { return Read(log_path).find("line 260\n") != std::string::npos; }));
  EXPECT_TRUE(Alive(running->pid()));
  coordinator_->Start();
  const auto registration = coordinator_->WaitRegistration(2);
  ASSERT_TRUE(registration.has_value());
  EXPECT_EQ(registration->workers(0).pid(), running->pid());
  EXPECT_EQ(registration->workers(0).state(), v1::RUNNING);
  ASSERT_TRUE(coordinator_->Desire({Gang(1, v1::LAUNCH, command)}));
  std::ofstream(dir_ + "/end") << "x";
  const auto log = coordinator_->WaitLog("j-1.1.0");
  ASSERT_TRUE(log.has_value());
  EXPECT_EQ(*log, Read(log_path));
  EXPECT_THAT(*log, EndsWith("F last\n"));
}

TEST_F(AgentProcess, CoordinatorSilent_WorkersAreKilledWhenTheLeaseIsOver) {
  StartAll(absl::Seconds(2));
  Launch(1, Script("sleep 1000"));
  const auto running = coordinator_->WaitWorker(v1::RUNNING);
  ASSERT_TRUE(running.has_value());
  coordinator_->Mute(true);
  EXPECT_TRUE(Await([&] { return !Alive(running->pid()); }));
  coordinator_->Mute(false);
  const auto registration = coordinator_->WaitRegistration(2);
  ASSERT_TRUE(registration.has_value());
  ASSERT_EQ(registration->workers_size(), 1);
  EXPECT_FALSE(registration->workers(0).exit().by_agent());
}

TEST_F(AgentProcess, Refused_ExitsWithOneLine) {
  coordinator_ = std::make_unique<FakeCoordinator>(kLongLease);
  coordinator_->Start();
  coordinator_->Refuse(grpc::Status(grpc::StatusCode::ALREADY_EXISTS, "another agent with node id n1"));
  EXPECT_EQ(WaitExit(Spawn()), 1);
  EXPECT_THAT(Read(dir_ + "/agent.log"), HasSubstr("refuses this node: another agent with node id n1"));
}

TEST_F(AgentProcess, SecondAgentOnTheSameStateDir_IsRefused) {
  StartAll();
  EXPECT_EQ(WaitExit(Spawn({}, "second.log")), 1);
  EXPECT_THAT(Read(dir_ + "/second.log"), HasSubstr("another muster-agent runs on " + dir_ + "/s"));
}

TEST_F(AgentProcess, StateDirTooLong_IsRefused) {
  coordinator_ = std::make_unique<FakeCoordinator>(kLongLease);
  coordinator_->Start();
  state_dir_ = "/" + std::string(90, 'x');
  EXPECT_EQ(WaitExit(Spawn()), 1);
  EXPECT_THAT(Read(dir_ + "/agent.log"), HasSubstr("choose a shorter path"));
}

TEST_F(AgentProcess, Sigterm_StopsWorkersAndLeaves) {
  StartAll();
  Launch(1, Script("trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.01; done"));
  ASSERT_TRUE(coordinator_->WaitLogHas("j-1.1.0", "ready"));
  ::kill(agent_, SIGTERM);
  const auto exited = coordinator_->WaitWorker(v1::EXITED);
  ASSERT_TRUE(exited.has_value());
  EXPECT_EQ(exited->exit().code(), 0);
  EXPECT_EQ(WaitExit(agent_), 0);
  agent_ = -1;
  const auto log = coordinator_->WaitLog("j-1.1.0");
  ASSERT_TRUE(log.has_value());
  EXPECT_THAT(*log, EndsWith("F bye\n"));
}

TEST_F(AgentProcess, SigtermKeepingWorkers_LeavesThemRunning) {
  coordinator_ = std::make_unique<FakeCoordinator>(kLongLease);
  coordinator_->Start();
  agent_ = Spawn({"--keep_workers_on_exit"});
  ASSERT_TRUE(coordinator_->WaitRegistration(1).has_value());
  Launch(1, Script("sleep 1000"));
  const auto running = coordinator_->WaitWorker(v1::RUNNING);
  ASSERT_TRUE(running.has_value());
  ::kill(agent_, SIGTERM);
  EXPECT_EQ(WaitExit(agent_), 0);
  EXPECT_TRUE(Alive(running->pid()));
  StartAgent();
  const auto registration = coordinator_->WaitRegistration(2);
  ASSERT_TRUE(registration.has_value());
  EXPECT_EQ(registration->workers(0).pid(), running->pid());
  ASSERT_TRUE(coordinator_->Desire({}));
  EXPECT_TRUE(Await([&] { return !Alive(running->pid()); }));
}

}  // namespace
}  // namespace muster::agent
