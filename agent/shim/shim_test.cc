// The shim's program with real processes. What is waited for has a generous deadline and is looked at as it happens.

#include "agent/shim/shim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <regex>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "agent/runtime/spawn_shim.h"
#include "agent/shim/records.h"

namespace muster::shim {
namespace {

using ::testing::HasSubstr;

constexpr int kDeadlineMillis = 60'000;

std::string Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class ShimTest : public ::testing::Test {
 protected:
  ShimTest() {
    std::string dir = absl::StrCat(::testing::TempDir(), "/shim.XXXXXX");
    dir_ = ::mkdtemp(dir.data());
  }
  ~ShimTest() override {
    if (fd_ >= 0) ::close(fd_);
  }

  void Start(const std::string& script, absl::Duration orphan_after = absl::Minutes(5)) {
    StartCommand({"/bin/sh", "-c", script}, dir_, orphan_after);
  }
  void StartCommand(std::vector<std::string> command, const std::string& working_dir,
                    absl::Duration orphan_after = absl::Minutes(5)) {
    agent::ShimStart start;
    start.program = absl::StrCat(::getenv("TEST_SRCDIR"), "/muster/agent/shim/muster-shim");
    start.folder = dir_;
    start.working_dir = working_dir;
    start.orphan_after = orphan_after;
    start.command = std::move(command);
    start.environment = {"PATH=/usr/bin:/bin"};
    const absl::StatusOr<int> fd = agent::SpawnShim(start);
    if (fd.ok()) fd_ = *fd;
  }

  // The next packet that begins with `tag`, without it. Empty at the end of the connection.
  std::string WaitFor(const std::string& tag) {
    char buffer[kMaxPacket];
    while (fd_ >= 0) {
      pollfd wait = {fd_, POLLIN, 0};
      if (::poll(&wait, 1, kDeadlineMillis) <= 0) {
        ADD_FAILURE() << "no " << tag << " in time";
        return "";
      }
      const ssize_t n = ::recv(fd_, buffer, sizeof(buffer), 0);
      if (n <= 0) return "";
      absl::string_view packet(buffer, n);
      if (absl::ConsumePrefix(&packet, tag)) return std::string(packet);
    }
    return "";
  }
  StartRecord WaitStart() { return DecodeStart(WaitFor(kStartTag)).value(); }
  // Told over the connection, or if it ended before it was taken, on file.
  ExitRecord WaitExit() {
    std::string text = WaitFor(kExitTag);
    if (text.empty()) text = Read(absl::StrCat(dir_, "/", kExitName));
    return DecodeExit(text).value();
  }
  void WaitGone() {
    while (!WaitFor("anything").empty()) {
    }
  }
  void Tell(int signal, Command::Target target, bool wanted = true) {
    const std::string packet = Encode(Command{signal, target, wanted});
    ASSERT_EQ(::send(fd_, packet.data(), packet.size(), MSG_NOSIGNAL), static_cast<ssize_t>(packet.size()));
  }
  // A line in a file that a worker writes.
  std::string WaitForLine(const std::string& name) {
    for (int waited = 0; waited < kDeadlineMillis; waited += 5) {
      const std::string text = Read(absl::StrCat(dir_, "/", name));
      if (!text.empty() && text.back() == '\n') return text.substr(0, text.size() - 1);
      ::poll(nullptr, 0, 5);
    }
    ADD_FAILURE() << "no line in " << name;
    return "";
  }
  // The process has ended (its parent may not have reaped it).
  static bool Dead(pid_t pid) {
    const std::string stat = Read(absl::StrCat("/proc/", pid, "/stat"));
    return stat.empty() || stat.find(") Z ") != std::string::npos;
  }
  std::string Log() { return Read(absl::StrCat(dir_, "/", kLogName)); }

  std::string dir_;
  int fd_ = -1;
};

TEST_F(ShimTest, ExitCode_IsToldAndOnFile) {
  Start("exit 7");
  const ExitRecord told = WaitExit();
  EXPECT_EQ(told.code, 7);
  EXPECT_EQ(told.signal, 0);
  EXPECT_FALSE(told.by_agent);
  WaitGone();
  EXPECT_EQ(DecodeExit(Read(absl::StrCat(dir_, "/", kExitName))).value().code, 7);
}

TEST_F(ShimTest, Signal_IsNotFoldedIntoTheCode) {
  Start("kill -SEGV $$");
  const ExitRecord told = WaitExit();
  EXPECT_EQ(told.code, 0);
  EXPECT_EQ(told.signal, SIGSEGV);
}

TEST_F(ShimTest, Output_IsInCriLinesAndWholeOnceTheConnectionEnds) {
  Start("echo out; echo err >&2; printf unfinished");
  EXPECT_EQ(WaitExit().code, 0);
  WaitGone();
  const std::string stamp = "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\\.[0-9]{9}Z ";
  EXPECT_TRUE(std::regex_search(Log(), std::regex(stamp + "stdout F out\n")));
  EXPECT_TRUE(std::regex_search(Log(), std::regex(stamp + "stderr F err\n")));
  EXPECT_TRUE(std::regex_search(Log(), std::regex(stamp + "stdout F unfinished\n")));
}

TEST_F(ShimTest, LastWords_AreOnFileWhenTheExitIsTold) {
  Start("for i in 1 2 3 4 5 6 7 8 9; do echo line $i; done; exit 1");
  WaitExit();
  EXPECT_THAT(Log(), HasSubstr("line 9\n"));
}

TEST_F(ShimTest, DoubleForkedGrandchild_IsKilledWithTheWorker) {
  // Its own session, its parent gone: only a subreaper finds it.
  Start("(setsid sh -c 'echo $$ > pid; exec sleep 1000' &) ; while [ ! -s pid ]; do :; done; exit 0");
  EXPECT_EQ(WaitExit().code, 0);
  WaitGone();
  int pid = 0;
  ASSERT_TRUE(absl::SimpleAtoi(WaitForLine("pid"), &pid));
  EXPECT_TRUE(Dead(pid));
}

TEST_F(ShimTest, KillTree_EndsAWorkerThatIgnoresSigterm) {
  Start("trap '' TERM; setsid sleep 1000 & echo $! > pid; while :; do sleep 1000; done");
  int pid = 0;
  ASSERT_TRUE(absl::SimpleAtoi(WaitForLine("pid"), &pid));
  Tell(SIGKILL, Command::Target::kTree);
  const ExitRecord told = WaitExit();
  EXPECT_EQ(told.signal, SIGKILL);
  EXPECT_TRUE(told.by_agent);
  WaitGone();
  EXPECT_TRUE(Dead(pid));
}

TEST_F(ShimTest, TermToLead_LeavesItsHelpersTimeToFinish) {
  Start("trap 'kill -0 $helper && echo helper lives; exit 5' TERM; sleep 1000 & helper=$!; echo $helper > pid; wait");
  WaitForLine("pid");
  Tell(SIGTERM, Command::Target::kLead);
  EXPECT_EQ(WaitExit().code, 5);
  EXPECT_THAT(Log(), HasSubstr("helper lives"));
}

TEST_F(ShimTest, UnwantedKill_IsNotByAgent) {
  Start("sleep 1000");
  WaitStart();
  Tell(SIGKILL, Command::Target::kTree, /*wanted=*/false);
  EXPECT_FALSE(WaitExit().by_agent);
}

TEST_F(ShimTest, CommandNotFound_IsNamed) {
  StartCommand({"no-such-program"}, dir_);
  EXPECT_THAT(WaitExit().start_error, HasSubstr("cannot run 'no-such-program': No such file or directory"));
}

TEST_F(ShimTest, CommandNotExecutable_IsNamed) {
  std::ofstream(absl::StrCat(dir_, "/script")) << "echo\n";
  StartCommand({absl::StrCat(dir_, "/script")}, dir_);
  EXPECT_THAT(WaitExit().start_error, HasSubstr("make it executable"));
}

TEST_F(ShimTest, WorkingDirNotThere_IsNamed) {
  StartCommand({"true"}, "/no/such/folder");
  EXPECT_THAT(WaitExit().start_error, HasSubstr("working_dir: cannot enter /no/such/folder"));
}

TEST_F(ShimTest, NoAgentForTooLong_KillsTheWorker) {
  Start("echo $$ > pid; sleep 1000", absl::Milliseconds(200));
  WaitForLine("pid");
  ::close(fd_);
  fd_ = -1;
  for (int waited = 0; waited < kDeadlineMillis && Read(absl::StrCat(dir_, "/", kExitName)).empty(); waited += 5) {
    ::poll(nullptr, 0, 5);
  }
  const ExitRecord record = DecodeExit(Read(absl::StrCat(dir_, "/", kExitName))).value();
  EXPECT_TRUE(record.orphaned);
  EXPECT_EQ(record.signal, SIGKILL);
}

TEST_F(ShimTest, AgentComesBack_FindsTheWorkerAndGetsItsExit) {
  Start("echo $$ > pid; while [ ! -e end ]; do sleep 0.01; done; exit 9");
  const std::string pid = WaitForLine("pid");
  ::close(fd_);
  fd_ = agent::ConnectShim(dir_).value();
  EXPECT_EQ(absl::StrCat(WaitStart().pid), pid);
  std::ofstream(absl::StrCat(dir_, "/end")) << "x";
  EXPECT_EQ(WaitExit().code, 9);
}

TEST_F(ShimTest, AgentComesBackLate_FindsNoShimButTheRecord) {
  Start("exit 3");
  ::close(fd_);
  fd_ = -1;
  for (int waited = 0; waited < kDeadlineMillis && !absl::IsNotFound(agent::ConnectShim(dir_).status()); waited += 5) {
    ::poll(nullptr, 0, 5);
  }
  EXPECT_EQ(DecodeExit(Read(absl::StrCat(dir_, "/", kExitName))).value().code, 3);
}

TEST_F(ShimTest, ShimKilled_WorkerDiesWithIt) {
  Start("sleep 1000");
  const StartRecord start = WaitStart();
  ::kill(start.shim_pid, SIGKILL);
  for (int waited = 0; waited < kDeadlineMillis && !Dead(start.pid); waited += 5) ::poll(nullptr, 0, 5);
  EXPECT_TRUE(Dead(start.pid));
}

TEST_F(ShimTest, Worker_InheritsNoDescriptors) {
  Start("ls /proc/self/fd | tr '\\n' ' '");
  WaitExit();
  WaitGone();
  // ls itself opens the folder.
  EXPECT_THAT(Log(), HasSubstr("stdout F 0 1 2 3 "));
  EXPECT_THAT(Log(), ::testing::Not(HasSubstr("3 4")));
}

TEST_F(ShimTest, OutputHeldBySomebodyOutside_DoesNotHoldTheShim) {
  // A process that is no descendant: our own, with the worker's stdout opened through /proc.
  Start("echo $$ > pid; while [ ! -e end ]; do sleep 0.01; done");
  const std::string pid = WaitForLine("pid");
  std::ofstream held(absl::StrCat("/proc/", pid, "/fd/1"));
  ASSERT_TRUE(held.is_open());
  std::ofstream(absl::StrCat(dir_, "/end")) << "x";
  EXPECT_EQ(WaitExit().code, 0);
  WaitGone();
}

}  // namespace
}  // namespace muster::shim
