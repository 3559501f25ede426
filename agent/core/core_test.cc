#include "agent/core/core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "common/proto_time.h"
#include "common/version.h"

namespace muster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr absl::Duration kLease = absl::Seconds(3);

const absl::Time kStart = absl::FromUnixSeconds(1'700'000'000);

class CoreTest : public ::testing::Test {
 protected:
  CoreTest() : core_(Options(), kStart) {}

  static CoreOptions Options() {
    CoreOptions options;
    options.node_id = "n1";
    options.agent_uid = "uid";
    options.incarnation = "inc";
    options.address = "10.0.0.1";
    options.socket_path = "/s/agent.sock";
    for (int i = 0; i < 2; ++i) {
      v1::Slot slot;
      slot.set_device(v1::CPU);
      slot.set_index(i);
      options.slots.push_back(slot);
    }
    return options;
  }

  void Step(const Event& event) { actions_ = core_.Step(event, now_); }
  void Pass(absl::Duration d) {
    now_ += d;
    Step(TimePassed{});
  }

  template <typename T>
  std::vector<T> All() const {
    std::vector<T> found;
    for (const Action& action : actions_) {
      if (const T* t = std::get_if<T>(&action)) found.push_back(*t);
    }
    return found;
  }
  std::vector<v1::AgentMessage> Sent() const {
    std::vector<v1::AgentMessage> sent;
    for (const Send& send : All<Send>()) {
      if (!send.message.has_heartbeat()) sent.push_back(send.message);
    }
    return sent;
  }
  std::vector<int> Signals() const {
    std::vector<int> signals;
    for (const SignalWorker& signal : All<SignalWorker>()) signals.push_back(signal.signal);
    return signals;
  }
  absl::Status ReplyStatus(uint64_t call) const {
    for (const Reply& reply : All<Reply>()) {
      if (reply.call == CallId(call)) return reply.result.status();
    }
    return absl::UnknownError("no reply");
  }
  template <typename R>
  std::optional<R> ReplyOf(uint64_t call) const {
    for (const Reply& reply : All<Reply>()) {
      if (reply.call == CallId(call) && reply.result.ok()) return std::get<R>(*reply.result);
    }
    return std::nullopt;
  }

  void Say(v1::CoordinatorMessage message) { Step(CoordinatorSaid{std::move(message)}); }
  void Connect() {
    Step(SessionOpened{});
    v1::CoordinatorMessage message;
    *message.mutable_welcome()->mutable_lease() = ToProto(kLease);
    *message.mutable_welcome()->mutable_heartbeat_interval() = ToProto(absl::Milliseconds(500));
    Say(message);
  }
  // Heartbeats go out and are answered.
  void StayInTouch() {
    Step(TimePassed{});
    for (const Send& send : All<Send>()) {
      if (!send.message.has_heartbeat()) continue;
      v1::CoordinatorMessage ack;
      ack.mutable_heartbeat_ack()->set_seq(send.message.heartbeat().seq());
      core_.Step(CoordinatorSaid{ack}, now_);
    }
  }

  v1::GangAssignment Gang(const std::string& job, uint64_t generation, v1::GangPhase phase, int workers = 1,
                          bool train = true) {
    v1::GangAssignment gang;
    gang.set_job_id(job);
    gang.set_generation(generation);
    gang.set_phase(phase);
    if (train) {
      gang.mutable_spec()->mutable_train();
    } else {
      gang.mutable_spec()->add_command("true");
    }
    *gang.mutable_spec()->mutable_grace() = ToProto(absl::Seconds(10));
    gang.set_world_size(workers);
    gang.set_node_count(1);
    gang.set_master_addr("10.0.0.1");
    gang.set_master_port(20001);
    for (int i = 0; i < workers; ++i) {
      v1::LocalWorker* worker = gang.add_workers();
      worker->set_rank(i);
      worker->set_local_rank(i);
      worker->set_slot(i);
    }
    return gang;
  }
  void Desire(const std::vector<v1::GangAssignment>& gangs) {
    v1::CoordinatorMessage message;
    message.mutable_desired()->set_revision(++revision_);
    for (const auto& gang : gangs) *message.mutable_desired()->add_gangs() = gang;
    Say(message);
  }
  static WorkerKey Key(const std::string& job, uint64_t generation, int rank) {
    return {{JobId(job), Generation(generation)}, rank};
  }
  static v1::WorkerRef Ref(const std::string& job, uint64_t generation, int rank) {
    v1::WorkerRef ref;
    ref.set_job_id(job);
    ref.set_generation(generation);
    ref.set_rank(rank);
    return ref;
  }
  // PREPARE, LAUNCH, started.
  void Launch(const v1::GangAssignment& gang) {
    v1::GangAssignment prepare = gang;
    prepare.set_phase(v1::PREPARE);
    Desire({prepare});
    Step(GangReady{{JobId(gang.job_id()), Generation(gang.generation())}, 20001});
    Desire({gang});
    for (const auto& worker : gang.workers()) {
      Step(WorkerStarted{Key(gang.job_id(), gang.generation(), worker.rank()), 100 + worker.rank(), now_});
    }
  }
  void Exit(const WorkerKey& worker, int code, int signal = 0) {
    v1::ExitInfo exit;
    exit.set_code(code);
    exit.set_signal(signal);
    Step(WorkerExited{worker, exit});
  }
  HelloCalled Hello(uint64_t call, const v1::WorkerRef& ref) {
    HelloCalled hello{CallId(call), {}};
    *hello.request.mutable_worker() = ref;
    hello.request.set_protocol(kProtocolVersion);
    return hello;
  }
  JoinCalled Join(uint64_t call, const v1::WorkerRef& ref, const std::string& blob) {
    JoinCalled join{CallId(call), {}};
    *join.request.mutable_worker() = ref;
    join.request.set_blob(blob);
    return join;
  }
  ReportCalled Report(uint64_t call, const v1::WorkerRef& ref, const std::vector<int64_t>& steps = {}) {
    ReportCalled report{CallId(call), {}};
    *report.request.mutable_worker() = ref;
    for (const int64_t step : steps) report.request.add_steps()->set_step(step);
    return report;
  }
  void Joined(const std::string& job, uint64_t generation, const std::vector<std::string>& blobs) {
    v1::CoordinatorMessage message;
    message.mutable_joined()->set_job_id(job);
    message.mutable_joined()->set_generation(generation);
    for (const auto& blob : blobs) message.mutable_joined()->add_blobs(blob);
    Say(message);
  }

  absl::Time now_ = kStart;
  uint64_t revision_ = 0;
  Core core_;
  std::vector<Action> actions_;
};

TEST_F(CoreTest, Session_Opened_RegistersFirst) {
  Step(SessionOpened{});
  ASSERT_THAT(Sent(), SizeIs(1));
  const v1::Register registration = Sent()[0].register_();
  EXPECT_EQ(registration.node_id(), "n1");
  EXPECT_EQ(registration.protocol(), kProtocolVersion);
  EXPECT_EQ(registration.slots_size(), 2);
}

TEST_F(CoreTest, Prepare_EmptyNode_HoldsAPortAndAnswers) {
  Connect();
  Desire({Gang("j", 1, v1::PREPARE)});
  ASSERT_THAT(All<PrepareGang>(), SizeIs(1));
  EXPECT_TRUE(All<PrepareGang>()[0].needs_worker_program);
  EXPECT_THAT(Sent(), IsEmpty());
  Step(GangReady{{JobId("j"), Generation(1)}, 20007});
  ASSERT_THAT(Sent(), SizeIs(1));
  EXPECT_EQ(Sent()[0].prepared().master_port(), 20007);
  EXPECT_EQ(Sent()[0].prepared().error(), "");
}

TEST_F(CoreTest, Prepare_ShellRefuses_SaysWhy) {
  Connect();
  Desire({Gang("j", 1, v1::PREPARE)});
  Step(GangReady{{JobId("j"), Generation(1)}, absl::NotFoundError("no trainer here")});
  ASSERT_THAT(Sent(), SizeIs(1));
  EXPECT_EQ(Sent()[0].prepared().error(), "no trainer here");
}

TEST_F(CoreTest, Prepare_SlotNotThere_SaysWhy) {
  Connect();
  Desire({Gang("j", 1, v1::PREPARE, 3)});
  EXPECT_THAT(All<PrepareGang>(), IsEmpty());
  ASSERT_THAT(Sent(), SizeIs(1));
  EXPECT_THAT(Sent()[0].prepared().error(), HasSubstr("slot 2 is not there"));
}

TEST_F(CoreTest, Prepare_GangGoneBeforeReady_PortIsReleased) {
  Connect();
  Desire({Gang("j", 1, v1::PREPARE)});
  Desire({});
  Step(GangReady{{JobId("j"), Generation(1)}, 20007});
  EXPECT_THAT(All<ReleasePort>(), SizeIs(1));
  EXPECT_THAT(Sent(), IsEmpty());
}

TEST_F(CoreTest, Launch_Prepared_ReleasesPortThenStartsEachWorkerOnce) {
  Connect();
  Desire({Gang("j", 1, v1::PREPARE, 2)});
  Step(GangReady{{JobId("j"), Generation(1)}, 20001});
  Desire({Gang("j", 1, v1::LAUNCH, 2)});
  ASSERT_THAT(All<StartWorker>(), SizeIs(2));
  ASSERT_TRUE(std::holds_alternative<ReleasePort>(actions_[0]));
  const LaunchPlan plan = All<StartWorker>()[1].plan;
  EXPECT_EQ(plan.env.at("RANK"), "1");
  EXPECT_EQ(plan.env.at("MASTER_PORT"), "20001");
  EXPECT_EQ(plan.env.at("MUSTER_GENERATION"), "1");
  Desire({Gang("j", 1, v1::LAUNCH, 2)});
  EXPECT_THAT(All<StartWorker>(), IsEmpty());
}

TEST_F(CoreTest, Launch_ExitedWorker_IsNotStartedAgain) {
  Connect();
  Launch(Gang("j", 1, v1::LAUNCH));
  Exit(Key("j", 1, 0), 1);
  Step(WorkerGone{Key("j", 1, 0)});
  Desire({Gang("j", 1, v1::LAUNCH)});
  EXPECT_THAT(All<StartWorker>(), IsEmpty());
}

TEST_F(CoreTest, Command_Started_IsRunningAtOnce) {
  Connect();
  Launch(Gang("j", 1, v1::LAUNCH, 1, /*train=*/false));
  ASSERT_THAT(Sent(), SizeIs(1));
  EXPECT_EQ(Sent()[0].worker().state(), v1::RUNNING);
  EXPECT_EQ(Sent()[0].worker().pid(), 100);
}

TEST_F(CoreTest, Exit_IsToldAtOnce) {
  Connect();
  Launch(Gang("j", 1, v1::LAUNCH));
  Exit(Key("j", 1, 0), 0, SIGSEGV);
  ASSERT_THAT(Sent(), SizeIs(1));
  EXPECT_EQ(Sent()[0].worker().state(), v1::EXITED);
  EXPECT_EQ(Sent()[0].worker().exit().signal(), SIGSEGV);
  EXPECT_EQ(Sent()[0].worker().exit().code(), 0);
}

TEST_F(CoreTest, Exit_RankZeroOfCommandTellsOfTakenPort_IsPortConflict) {
  struct Case {
    bool train;
    int rank;
    int code;
    const char* line;
    bool conflict;
  };
  for (const Case& c : std::vector<Case>{{false, 0, 1, "OSError: [Errno 98] Address already in use", true},
                                         {false, 0, 1, "RuntimeError: ... (errno: 98 - EADDRINUSE)", true},
                                         {false, 0, 1, "no such file", false},
                                         {false, 0, 0, "Address already in use", false},
                                         {false, 1, 1, "Address already in use", false},
                                         {true, 0, 1, "Address already in use", false}}) {
    core_ = Core(Options(), now_);
    Connect();
    Launch(Gang("j", 1, v1::LAUNCH, 2, c.train));
    v1::ExitInfo exit;
    exit.set_code(c.code);
    exit.add_last_lines(c.line);
    Step(WorkerExited{Key("j", 1, c.rank), exit});
    ASSERT_THAT(Sent(), SizeIs(1));
    EXPECT_EQ(Sent()[0].worker().exit().port_conflict(), c.conflict) << c.line << " rank " << c.rank;
  }
}

TEST_F(CoreTest, Fence_GangAbsent_KillsWholeTreeAtOnceAndForgetsOnceGone) {
  Connect();
  Launch(Gang("j", 1, v1::LAUNCH));
  Desire({});
  ASSERT_THAT(All<SignalWorker>(), SizeIs(1));
  EXPECT_EQ(All<SignalWorker>()[0].signal, SIGKILL);
  EXPECT_EQ(All<SignalWorker>()[0].target, SignalTarget::kTree);
  EXPECT_TRUE(All<SignalWorker>()[0].wanted);
  Exit(Key("j", 1, 0), 0, SIGKILL);
  EXPECT_THAT(All<ForgetWorker>(), IsEmpty());
  Step(WorkerGone{Key("j", 1, 0)});
  EXPECT_THAT(All<ForgetWorker>(), SizeIs(1));
}

TEST_F(CoreTest, Fence_NewerGeneration_PreparesOnlyWhenTheOldIsGone) {
  Connect();
  Launch(Gang("j", 1, v1::LAUNCH));
  Desire({Gang("j", 2, v1::PREPARE)});
  EXPECT_THAT(Signals(), ElementsAre(SIGKILL));
  EXPECT_THAT(All<PrepareGang>(), IsEmpty());
  Exit(Key("j", 1, 0), 0, SIGKILL);
  EXPECT_THAT(All<PrepareGang>(), IsEmpty());
  Step(WorkerGone{Key("j", 1, 0)});
  EXPECT_THAT(All<PrepareGang>(), SizeIs(1));
}

TEST_F(CoreTest, Fence_WorkerThatDoesNotDie_PrepareIsRefusedInWords) {
  Connect();
  Launch(Gang("j", 1, v1::LAUNCH));
  Desire({Gang("j", 2, v1::PREPARE)});
  for (int i = 0; i < 19; ++i) {
    now_ += absl::Milliseconds(500);
    StayInTouch();
    ASSERT_THAT(Sent(), IsEmpty());
  }
  Pass(absl::Milliseconds(501));
  ASSERT_THAT(Sent(), SizeIs(1));
  EXPECT_THAT(Sent()[0].prepared().error(), HasSubstr("generation 1 (pid 100) lives on 10s after SIGKILL"));
}

TEST_F(CoreTest, Desired_OlderRevision_IsDropped) {
  Connect();
  Launch(Gang("j", 1, v1::LAUNCH));
  v1::CoordinatorMessage late;
  late.mutable_desired()->set_revision(revision_ - 1);
  Say(late);
  EXPECT_THAT(Signals(), IsEmpty());
}

TEST_F(CoreTest, Desired_NewSessionCountsAnew_IsTaken) {
  Connect();
  Launch(Gang("j", 1, v1::LAUNCH));
  Step(SessionLost{"gone"});
  Connect();
  revision_ = 0;
  Desire({});
  EXPECT_THAT(Signals(), ElementsAre(SIGKILL));
}

TEST_F(CoreTest, Stop_LeadThenGroupThenKill) {
  Connect();
  Launch(Gang("j", 1, v1::LAUNCH));
  Desire({Gang("j", 1, v1::STOP)});
  ASSERT_THAT(All<SignalWorker>(), SizeIs(1));
  EXPECT_EQ(All<SignalWorker>()[0].signal, SIGTERM);
  EXPECT_EQ(All<SignalWorker>()[0].target, SignalTarget::kLead);
  std::vector<std::pair<int, int>> seen;  // (tenths of a second, signal)
  for (int i = 1; i <= 110; ++i) {
    now_ += absl::Milliseconds(100);
    StayInTouch();
    for (const SignalWorker& signal : All<SignalWorker>()) seen.emplace_back(i, signal.signal);
  }
  EXPECT_THAT(seen, ElementsAre(std::pair(50, SIGTERM), std::pair(100, SIGKILL)));
}

TEST_F(CoreTest, Stop_NeverStartedWorker_IsToldAsExited) {
  Connect();
  Desire({Gang("j", 1, v1::PREPARE)});
  Step(GangReady{{JobId("j"), Generation(1)}, 20001});
  Desire({Gang("j", 1, v1::STOP)});
  EXPECT_THAT(All<ReleasePort>(), SizeIs(1));
  ASSERT_THAT(Sent(), SizeIs(1));
  EXPECT_EQ(Sent()[0].worker().state(), v1::EXITED);
  EXPECT_TRUE(Sent()[0].worker().exit().by_agent());
}

TEST_F(CoreTest, Lease_Silence_KillsWorkersNotAsWantedAndResetsSession) {
  Connect();
  Launch(Gang("j", 1, v1::LAUNCH));
  EXPECT_LE(core_.NextDeadline(), now_ + kLease);
  Pass(kLease - absl::Milliseconds(1));
  EXPECT_THAT(Signals(), IsEmpty());
  Pass(absl::Milliseconds(1));
  ASSERT_THAT(All<SignalWorker>(), SizeIs(1));
  EXPECT_EQ(All<SignalWorker>()[0].signal, SIGKILL);
  EXPECT_FALSE(All<SignalWorker>()[0].wanted);
  EXPECT_THAT(All<ResetSession>(), SizeIs(1));
  Pass(absl::Seconds(1));
  EXPECT_THAT(Signals(), IsEmpty());
  Exit(Key("j", 1, 0), 0, SIGKILL);
  Step(SessionLost{"silent"});
  Step(SessionOpened{});
  ASSERT_THAT(Sent(), SizeIs(1));
  EXPECT_THAT(Sent()[0].register_().workers(0).exit().last_lines(0), HasSubstr("no word from the coordinator for 3s"));
}

TEST_F(CoreTest, Lease_CountsFromTheHeartbeatsSending) {
  Connect();
  Launch(Gang("j", 1, v1::LAUNCH));
  now_ += absl::Seconds(1);
  Step(TimePassed{});
  uint64_t seq = 0;
  for (const Send& send : All<Send>()) seq = std::max(seq, send.message.heartbeat().seq());
  ASSERT_GT(seq, 0u);
  now_ += absl::Seconds(1);  // the answer is slow
  v1::CoordinatorMessage ack;
  ack.mutable_heartbeat_ack()->set_seq(seq);
  Say(ack);
  now_ += kLease - absl::Seconds(1) - absl::Milliseconds(1);
  Step(TimePassed{});
  EXPECT_THAT(Signals(), IsEmpty());
  Pass(absl::Milliseconds(1));
  EXPECT_THAT(Signals(), ElementsAre(SIGKILL));
}

TEST_F(CoreTest, Lease_OtherMessages_DoNotExtendIt) {
  Connect();
  Launch(Gang("j", 1, v1::LAUNCH));
  now_ += kLease - absl::Milliseconds(1);
  Desire({Gang("j", 1, v1::LAUNCH)});
  Pass(absl::Milliseconds(1));
  EXPECT_THAT(Signals(), ElementsAre(SIGKILL));
}

TEST_F(CoreTest, Lease_CoordinatorRefuses_WorkersGoOnForTenMinutes) {
  Connect();
  Launch(Gang("j", 1, v1::LAUNCH));
  Step(SessionLost{"reset"});
  const absl::Time silent_since = now_;
  while (now_ < silent_since + absl::Minutes(10) - absl::Seconds(1)) {
    now_ += absl::Seconds(1);
    Step(CoordinatorRefused{});
    ASSERT_THAT(Signals(), IsEmpty()) << now_ - silent_since;
  }
  for (int i = 0; i < 10 && Signals().empty(); ++i) {
    now_ += absl::Seconds(1);
    Step(CoordinatorRefused{});
  }
  EXPECT_THAT(Signals(), ElementsAre(SIGKILL));
  EXPECT_LE(now_ - silent_since, absl::Minutes(10) + absl::Seconds(5));
}

TEST_F(CoreTest, Lease_RefusedThenSilence_KillsALeaseLater) {
  Connect();
  Launch(Gang("j", 1, v1::LAUNCH));
  now_ += absl::Seconds(2);
  Step(CoordinatorRefused{});
  Pass(kLease - absl::Milliseconds(1));
  EXPECT_THAT(Signals(), IsEmpty());
  Pass(absl::Milliseconds(1));
  EXPECT_THAT(Signals(), ElementsAre(SIGKILL));
}

TEST_F(CoreTest, Hello_Launched_GetsItsPlace) {
  Connect();
  Launch(Gang("j", 3, v1::LAUNCH, 2));
  Step(Hello(1, Ref("j", 3, 1)));
  const auto reply = ReplyOf<v1::HelloReply>(1);
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->local_rank(), 1);
  EXPECT_EQ(reply->world_size(), 2);
  EXPECT_EQ(reply->address(), "10.0.0.1");
  EXPECT_EQ(reply->workers_on_host(), 2);
}

TEST_F(CoreTest, Calls_Refused) {
  Connect();
  Launch(Gang("j", 3, v1::LAUNCH));
  Step(Hello(1, Ref("j", 2, 0)));
  EXPECT_EQ(ReplyStatus(1).code(), absl::StatusCode::kFailedPrecondition);
  Step(Join(2, Ref("j", 2, 0), "b"));
  EXPECT_EQ(ReplyStatus(2).code(), absl::StatusCode::kFailedPrecondition);
  Step(Report(3, Ref("j", 2, 0), {5}));
  EXPECT_EQ(ReplyStatus(3).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Sent(), IsEmpty());
  Step(Hello(4, Ref("other", 1, 0)));
  EXPECT_EQ(ReplyStatus(4).code(), absl::StatusCode::kNotFound);
  HelloCalled old = Hello(5, Ref("j", 3, 0));
  old.request.set_protocol(kProtocolVersion + 1);
  Step(old);
  EXPECT_EQ(ReplyStatus(5).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(ReplyStatus(5).message()), HasSubstr("install the same release"));
}

TEST_F(CoreTest, Join_WaitsForTheGang) {
  Connect();
  Launch(Gang("j", 1, v1::LAUNCH, 2));
  Step(Join(1, Ref("j", 1, 0), "b0"));
  ASSERT_THAT(Sent(), SizeIs(1));
  EXPECT_EQ(Sent()[0].worker().state(), v1::JOINING);
  EXPECT_EQ(Sent()[0].worker().join_blob(), "b0");
  EXPECT_THAT(All<Reply>(), IsEmpty());
  Joined("j", 1, {"b0", "b1"});
  const auto reply = ReplyOf<v1::JoinReply>(1);
  ASSERT_TRUE(reply.has_value());
  EXPECT_THAT(reply->blobs(), ElementsAre("b0", "b1"));
  // The answer was lost on its way: asked again, given again.
  Step(Join(2, Ref("j", 1, 0), "b0"));
  EXPECT_TRUE(ReplyOf<v1::JoinReply>(2).has_value());
}

TEST_F(CoreTest, Join_OldGenerationsJoined_IsIgnored) {
  Connect();
  Launch(Gang("j", 2, v1::LAUNCH));
  Step(Join(1, Ref("j", 2, 0), "b"));
  Joined("j", 1, {"x"});
  EXPECT_THAT(All<Reply>(), IsEmpty());
}

TEST_F(CoreTest, Join_GangReplaced_IsRefused) {
  Connect();
  Launch(Gang("j", 1, v1::LAUNCH));
  Step(Join(1, Ref("j", 1, 0), "b"));
  Desire({Gang("j", 2, v1::PREPARE)});
  EXPECT_EQ(ReplyStatus(1).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(CoreTest, Join_CallerGone_IsDropped) {
  Connect();
  Launch(Gang("j", 1, v1::LAUNCH));
  Step(Join(1, Ref("j", 1, 0), "b"));
  Step(CallEnded{CallId(1)});
  Joined("j", 1, {"b"});
  EXPECT_THAT(All<Reply>(), IsEmpty());
}

TEST_F(CoreTest, Join_NotCompleteInTime_NamesMissingRanks) {
  Connect();
  Launch(Gang("j", 1, v1::LAUNCH, 2));
  Step(Join(1, Ref("j", 1, 0), "b"));
  while (ReplyStatus(1).code() == absl::StatusCode::kUnknown && now_ < kStart + absl::Minutes(6)) {
    now_ += absl::Milliseconds(500);
    StayInTouch();
  }
  EXPECT_EQ(ReplyStatus(1).code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(ReplyStatus(1).message()), HasSubstr("missing on this node: rank 1"));
}

TEST_F(CoreTest, Report_Progress_IsKeptUntilAcknowledged) {
  Connect();
  Launch(Gang("j", 1, v1::LAUNCH));
  Step(Report(1, Ref("j", 1, 0), {1, 2}));
  EXPECT_TRUE(ReplyOf<v1::ReportReply>(1).has_value());
  ASSERT_THAT(Sent(), SizeIs(2));
  EXPECT_EQ(Sent()[0].progress().steps_size(), 2);
  EXPECT_EQ(Sent()[1].worker().state(), v1::RUNNING);
  v1::CoordinatorMessage ack;
  ack.mutable_progress_ack()->set_job_id("j");
  ack.mutable_progress_ack()->set_generation(1);
  ack.mutable_progress_ack()->set_step(1);
  Say(ack);
  Step(SessionLost{"gone"});
  Step(Report(2, Ref("j", 1, 0), {3}));
  EXPECT_TRUE(ReplyOf<v1::ReportReply>(2).has_value());
  EXPECT_THAT(Sent(), IsEmpty());
  Connect();
  std::vector<int64_t> steps;
  for (const auto& message : Sent()) {
    for (const auto& step : message.progress().steps()) steps.push_back(step.step());
  }
  EXPECT_THAT(steps, ElementsAre(2, 3));
}

TEST_F(CoreTest, Report_DuringTheBarrier_DoesNotMeanRunning) {
  Connect();
  Launch(Gang("j", 1, v1::LAUNCH));
  Step(Join(1, Ref("j", 1, 0), "b"));
  Step(Report(2, Ref("j", 1, 0)));
  EXPECT_THAT(Sent(), IsEmpty());
  Joined("j", 1, {"b"});
  Step(Report(3, Ref("j", 1, 0)));
  ASSERT_THAT(Sent(), SizeIs(1));
  EXPECT_EQ(Sent()[0].worker().state(), v1::RUNNING);
}

TEST_F(CoreTest, Report_ShardUntilCommitted) {
  Connect();
  v1::GangAssignment gang = Gang("j", 1, v1::LAUNCH);
  Launch(gang);
  ReportCalled report = Report(1, Ref("j", 1, 0), {10});
  report.request.mutable_shard()->set_step(10);
  Step(report);
  ASSERT_FALSE(Sent().empty());
  EXPECT_EQ(Sent().back().worker().shard().step(), 10);
  Step(report);  // said again with every report: told once
  EXPECT_THAT(All<SaveWorker>(), IsEmpty());
  gang.set_committed_step(10);
  gang.mutable_publish()->set_step(10);
  gang.add_remove_steps(5);
  Desire({gang});
  Step(Report(2, Ref("j", 1, 0)));
  const auto reply = ReplyOf<v1::ReportReply>(2);
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->committed_step(), 10);
  EXPECT_EQ(reply->publish().step(), 10);
  EXPECT_THAT(reply->remove_steps(), ElementsAre(5));
  Step(SessionOpened{});
  EXPECT_FALSE(Sent()[0].register_().workers(0).has_shard());
}

TEST_F(CoreTest, Reconnect_ExitWithAFailure_FailureComesBeforeTheExit) {
  Connect();
  Launch(Gang("j", 1, v1::LAUNCH));
  Step(SessionLost{"gone"});
  ReportCalled report = Report(1, Ref("j", 1, 0), {7});
  report.request.mutable_failure()->set_message("bad data");
  Step(report);
  Exit(Key("j", 1, 0), 1);
  Step(SessionOpened{});
  ASSERT_THAT(Sent(), SizeIs(1));
  EXPECT_EQ(Sent()[0].register_().workers(0).state(), v1::RUNNING);
  v1::CoordinatorMessage welcome;
  welcome.mutable_welcome();
  Say(welcome);
  std::vector<v1::AgentMessage::BodyCase> order;
  for (const auto& message : Sent()) order.push_back(message.body_case());
  EXPECT_THAT(order, ElementsAre(v1::AgentMessage::kProgress, v1::AgentMessage::kPrepared, v1::AgentMessage::kFailure,
                                 v1::AgentMessage::kWorker));
  EXPECT_EQ(Sent().back().worker().state(), v1::EXITED);
}

TEST_F(CoreTest, Adopted_BeforeDesired_IsKeptAndItsCallsWait) {
  v1::WorkerStatus status;
  status.set_job_id("j");
  status.set_generation(1);
  status.set_state(v1::STARTING);
  Step(WorkerFound{status, std::nullopt});
  Step(Hello(1, Ref("j", 1, 0)));
  EXPECT_THAT(All<Reply>(), IsEmpty());
  Step(Join(2, Ref("j", 1, 0), "b"));
  EXPECT_THAT(All<Reply>(), IsEmpty());
  Step(Report(3, Ref("j", 1, 0)));
  EXPECT_EQ(ReplyStatus(3).code(), absl::StatusCode::kUnavailable);
  Connect();
  EXPECT_THAT(Signals(), IsEmpty());
  Desire({Gang("j", 1, v1::LAUNCH)});
  EXPECT_TRUE(ReplyOf<v1::HelloReply>(1).has_value());
  EXPECT_THAT(All<StartWorker>(), IsEmpty());
  ASSERT_THAT(Sent(), SizeIs(1));
  EXPECT_EQ(Sent()[0].worker().state(), v1::JOINING);
}

TEST_F(CoreTest, Adopted_NotDesired_IsKilledOnceThatIsKnown) {
  v1::WorkerStatus status;
  status.set_job_id("j");
  status.set_generation(1);
  status.set_state(v1::RUNNING);
  Step(WorkerFound{status, std::nullopt});
  Connect();
  EXPECT_THAT(Signals(), IsEmpty());
  Desire({});
  EXPECT_THAT(Signals(), ElementsAre(SIGKILL));
}

TEST_F(CoreTest, Leave_StopsWorkersThenLeaves) {
  Connect();
  Launch(Gang("j", 1, v1::LAUNCH));
  Step(LeaveAsked{});
  EXPECT_THAT(Signals(), ElementsAre(SIGTERM));
  EXPECT_THAT(All<Left>(), IsEmpty());
  Desire({Gang("j", 2, v1::PREPARE)});
  ASSERT_THAT(Sent(), SizeIs(1));
  EXPECT_THAT(Sent()[0].prepared().error(), HasSubstr("told to stop"));
  Exit(Key("j", 1, 0), 0);
  EXPECT_THAT(All<Left>(), IsEmpty());
  Step(WorkerGone{Key("j", 1, 0)});
  EXPECT_THAT(All<Left>(), SizeIs(1));
}

TEST_F(CoreTest, Leave_AskedTwice_KillsAtOnce) {
  Connect();
  Launch(Gang("j", 1, v1::LAUNCH));
  Step(LeaveAsked{});
  Step(LeaveAsked{});
  EXPECT_THAT(Signals(), ElementsAre(SIGKILL));
}

TEST_F(CoreTest, PlanWorkers_CountsWhatIsAboutToStart) {
  Connect();
  Desire({Gang("j", 1, v1::PREPARE, 2)});
  ASSERT_THAT(All<PlanWorkers>(), SizeIs(1));
  EXPECT_EQ(All<PlanWorkers>()[0].count, 2);
  Desire({});
  ASSERT_THAT(All<PlanWorkers>(), SizeIs(1));
  EXPECT_EQ(All<PlanWorkers>()[0].count, 0);
}

}  // namespace
}  // namespace muster::agent
