// A command of the user's: what it is told, what its end means, and how it is cancelled.
#include <set>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/cluster.h"

namespace muster::e2e {
namespace {

using ::testing::HasSubstr;

std::string Command(const std::string& name, const std::string& nodes, int slots, const std::string& command,
                    const std::string& more = "") {
  return absl::StrCat("name: ", name, "\nnodes: ", nodes, "\nslots_per_node: ", slots, "\ncommand: ", command, "\n",
                      more);
}

TEST(Command, EveryRankHasTheEnvironmentContract) {
  Cluster cluster;
  cluster.StartAgents({"n1", "n2"}, 2);
  const std::string script =
      cluster.Write("env.sh",
                    "echo $RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $GROUP_RANK $MASTER_ADDR $GREETING "
                    "> $OUT/rank-$RANK\necho $MASTER_PORT > $OUT/port-$RANK\n");
  const std::string id = cluster.Submit(
      Command("env", "{min: 2}", 2, "[sh, " + script + "]", "env: {GREETING: hello, OUT: " + cluster.dir() + "}\n"));
  const v1::JobDetail done = cluster.WaitForState(id, v1::SUCCEEDED);
  EXPECT_EQ(done.job().generation(), 1);
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(cluster.Read(absl::StrCat("rank-", rank)),
              absl::StrCat(rank, " ", rank % 2, " 4 2 ", rank / 2, " 127.0.0.1 hello\n"));
    EXPECT_EQ(cluster.Read(absl::StrCat("port-", rank)), cluster.Read("port-0")) << "one port a gang";
  }
  EXPECT_GT(std::stoi("0" + cluster.Read("port-0")), 0);
}

TEST(Command, RanksReachRank0AtMasterAddrAndPort) {
  Cluster cluster;
  cluster.StartAgents({"n1", "n2"});
  const std::string script = cluster.Write("meet.py", R"(
import os, socket, threading
where = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if os.environ["RANK"] == "0":
    with socket.create_server(where) as server:
        peer, _ = server.accept()
        assert peer.recv(5) == b"hello"
        peer.sendall(b"there")
else:
    for attempt in range(600):
        try:
            peer = socket.create_connection(where, 1)
            break
        except OSError:
            threading.Event().wait(0.05)  # until rank 0 listens
    peer.sendall(b"hello")
    assert peer.recv(5) == b"there"
)");
  const std::string id = cluster.Submit(Command("meet", "{min: 2}", 1, "[python3, " + script + "]"));
  EXPECT_EQ(cluster.WaitForState(id, v1::SUCCEEDED).job().generation(), 1);
}

TEST(Command, TwoJobsShareNodesWithPortsOfTheirOwn) {
  Cluster cluster;
  cluster.StartAgents({"n1", "n2"}, 2);
  const std::string script = cluster.Write("hold.py", R"(
import os, socket, threading
name = os.environ["OUT"] + "/" + os.environ["NAME"] + "-" + os.environ["RANK"]
server = socket.create_server((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))) if os.environ["RANK"] == "0" else None
open(name, "w").write(os.environ["MASTER_PORT"])
while not os.path.exists(os.environ["OUT"] + "/go"):
    threading.Event().wait(0.02)
)");
  std::vector<std::string> ids;
  for (const std::string name : {"left", "right"}) {
    ids.push_back(cluster.Submit(Command(name, "{min: 2}", 1, "[python3, " + script + "]",
                                         absl::StrCat("env: {NAME: ", name, ", OUT: ", cluster.dir(), "}\n"))));
  }
  const auto all_there = [&] {
    for (const std::string name : {"left-0", "left-1", "right-0", "right-1"}) {
      if (cluster.Read(name).empty()) return false;
    }
    return true;
  };
  EXPECT_TRUE(WaitUntil(absl::Seconds(60), all_there)) << "both jobs run at the same time";
  EXPECT_NE(cluster.Read("left-0"), cluster.Read("right-0"));
  cluster.Write("go", "");
  for (const std::string& id : ids) EXPECT_EQ(cluster.WaitForState(id, v1::SUCCEEDED).job().restarts().total(), 0);
}

TEST(Command, TakenPortIsANewPortAndNotTheUsersFailure) {
  Cluster cluster;
  cluster.StartAgents({"n1"});
  // The first time somebody else has the port already.
  const std::string script = cluster.Write("port.py", R"(
import os, socket
where = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
marker = os.environ["OUT"] + "/first"
first = not os.path.exists(marker)
if first:
    open(marker, "w").write(os.environ["MASTER_PORT"])
    other = socket.create_server(where)
server = socket.create_server(where)
)");
  const std::string id = cluster.Submit(Command("port", "{min: 1}", 1, "[python3, " + script + "]",
                                                "env: {OUT: " + cluster.dir() + "}\nrestarts: {user: 0}\n"));
  const v1::JobDetail done = cluster.WaitForState(id, v1::SUCCEEDED);
  EXPECT_EQ(done.job().generation(), 2);
  EXPECT_EQ(done.job().restarts().user(), 0);
  EXPECT_TRUE(done.generations(0).failure().exit().port_conflict());
}

TEST(Command, ExitCodeIsInDescribe) {
  Cluster cluster;
  cluster.StartAgents({"n1"});
  const std::string id = cluster.Submit(
      Command("code", "{min: 1}", 1, "[sh, -c, 'echo the last words >&2; exit 37']", "restarts: {user: 0}\n"));
  const v1::JobDetail failed = cluster.WaitForState(id, v1::FAILED);
  EXPECT_EQ(failed.failure().exit().code(), 37);
  EXPECT_EQ(failed.failure().exit().signal(), 0);
  EXPECT_EQ(failed.failure().rank(), 0);
  EXPECT_EQ(failed.failure().node_id(), "n1");
  const CtlResult shown = cluster.Ctl({"describe", id});
  EXPECT_EQ(shown.code, 0);
  EXPECT_THAT(shown.out, HasSubstr("37"));
  EXPECT_THAT(shown.out, HasSubstr("the last words"));
  EXPECT_EQ(cluster.Ctl({"wait", id}).code, 1);
}

TEST(Command, SignalIsInDescribeAndIsNoExitCode) {
  Cluster cluster;
  cluster.StartAgents({"n1"});
  const std::string id =
      cluster.Submit(Command("signal", "{min: 1}", 1, "[sh, -c, 'kill -SEGV $$']", "restarts: {user: 0}\n"));
  const v1::JobDetail failed = cluster.WaitForState(id, v1::FAILED);
  EXPECT_EQ(failed.failure().exit().signal(), 11);
  EXPECT_EQ(failed.failure().exit().code(), 0);
  EXPECT_THAT(cluster.Ctl({"describe", id}).out, HasSubstr("SIGSEGV"));
}

TEST(Command, FailureIsTriedAgainWithinItsBudget) {
  Cluster cluster;
  cluster.StartAgents({"n1"});
  const std::string id = cluster.Submit(Command("again", "{min: 1}", 1, "[sh, -c, 'exit 1']", "restarts: {user: 2}\n"));
  const v1::JobDetail failed = cluster.WaitForState(id, v1::FAILED);
  EXPECT_EQ(failed.job().generation(), 3);
  EXPECT_EQ(failed.job().restarts().user(), 2);
  EXPECT_EQ(failed.job().restarts().infrastructure(), 0);
}

TEST(Command, MissingProgramSaysSo) {
  Cluster cluster;
  cluster.StartAgents({"n1"});
  const std::string id =
      cluster.Submit(Command("missing", "{min: 1}", 1, "[no-such-program]", "restarts: {user: 0}\n"));
  const v1::JobDetail failed = cluster.WaitForState(id, v1::FAILED);
  EXPECT_THAT(failed.job().reason(), HasSubstr("no-such-program"));
}

TEST(Command, FirstFailingRankIsNamedAndNotThoseItTookAlong) {
  Cluster cluster;
  cluster.StartAgents({"n1", "n2", "n3"});
  const std::string id =
      cluster.Submit(Command("first", "{min: 3}", 1, "[sh, -c, 'if [ $RANK = 2 ]; then exit 9; fi; exec sleep 1000']",
                             "restarts: {user: 0}\n"));
  const v1::JobDetail failed = cluster.WaitForState(id, v1::FAILED);
  EXPECT_EQ(failed.failure().rank(), 2);
  EXPECT_EQ(failed.failure().exit().code(), 9);
}

TEST(Command, CancelGivesTheGraceThatTheJobAskedFor) {
  Cluster cluster;
  cluster.StartAgents({"n1"});
  const std::string script = cluster.Write("graceful.sh",
                                           "trap 'sleep 1; echo saved > $OUT/saved; exit 0' TERM\n"
                                           "echo up > $OUT/up\nwhile :; do sleep 0.05; done\n");
  const std::string id = cluster.Submit(
      Command("graceful", "{min: 1}", 1, "[sh, " + script + "]", "env: {OUT: " + cluster.dir() + "}\ngrace: 30s\n"));
  ASSERT_TRUE(WaitUntil(absl::Seconds(60), [&] { return !cluster.Read("up").empty(); }));
  EXPECT_EQ(cluster.Ctl({"cancel", id}).code, 0);
  cluster.WaitForState(id, v1::CANCELLED);
  EXPECT_EQ(cluster.Read("saved"), "saved\n");
  EXPECT_EQ(cluster.Ctl({"wait", id}).code, 3);
  const CtlResult again = cluster.Ctl({"cancel", id});
  EXPECT_EQ(again.code, 1) << "a finished job";
  EXPECT_THAT(again.err, HasSubstr(id));
}

TEST(Command, CancelKillsWhatOutstaysItsGraceAndAllItStarted) {
  Cluster cluster;
  cluster.StartAgents({"n1"});
  // The child, in a session of its own, must not survive either.
  const std::string script =
      cluster.Write("stubborn.sh",
                    "trap '' TERM\nsetsid sh -c 'trap \"\" TERM; while :; do sleep 1; done' &\necho $! > $OUT/child\n"
                    "while :; do sleep 1; done\n");
  const std::string id = cluster.Submit(
      Command("stubborn", "{min: 1}", 1, "[sh, " + script + "]", "env: {OUT: " + cluster.dir() + "}\ngrace: 500ms\n"));
  ASSERT_TRUE(WaitUntil(absl::Seconds(60), [&] { return !cluster.Read("child").empty(); }));
  const pid_t child = std::stoi(cluster.Read("child"));
  ASSERT_TRUE(IsAlive(child));
  EXPECT_EQ(cluster.Ctl({"cancel", id}).code, 0);
  cluster.WaitForState(id, v1::CANCELLED);
  EXPECT_TRUE(WaitUntil(absl::Seconds(10), [&] { return !IsAlive(child); }));
}

}  // namespace
}  // namespace muster::e2e
