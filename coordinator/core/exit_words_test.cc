#include "coordinator/core/exit_words.h"

#include "gtest/gtest.h"

namespace muster::coordinator {
namespace {

v1::ExitInfo Exit(int code, int signal) {
  v1::ExitInfo exit;
  exit.set_code(code);
  exit.set_signal(signal);
  return exit;
}

TEST(DescribeExit, CodeAndSignalStayApart) {
  EXPECT_EQ(DescribeExit(Exit(137, 0)), "exited with code 137");
  EXPECT_EQ(DescribeExit(Exit(0, 9)), "was killed by signal 9 (SIGKILL)");
  EXPECT_EQ(DescribeExit(Exit(0, 35)), "was killed by signal 35");
}

TEST(EndedFromOutside, SignalsThatOthersSend) {
  EXPECT_TRUE(EndedFromOutside(Exit(0, 9)));
  EXPECT_TRUE(EndedFromOutside(Exit(0, 15)));
  EXPECT_FALSE(EndedFromOutside(Exit(0, 11)));
  EXPECT_FALSE(EndedFromOutside(Exit(0, 6)));
  EXPECT_FALSE(EndedFromOutside(Exit(137, 0)));
}

TEST(EndedFromOutside, OutOfMemoryIsTheProgramsOwn) {
  v1::ExitInfo exit = Exit(0, 9);
  exit.set_oom_killed(true);
  EXPECT_FALSE(EndedFromOutside(exit));
  EXPECT_EQ(DescribeExit(exit), "was killed because it ran out of memory");
}

TEST(EndedFromOutside, ProgramThatCannotRunIsTheUsers) {
  v1::ExitInfo exit;
  exit.set_start_error("execvp train.sh: No such file or directory");
  EXPECT_FALSE(EndedFromOutside(exit));
  exit.set_start_error("fork: Resource temporarily unavailable");
  EXPECT_TRUE(EndedFromOutside(exit));
}

TEST(EndedFromOutside, PortAndAgentAreNotTheUsers) {
  v1::ExitInfo exit = Exit(1, 0);
  exit.set_port_conflict(true);
  EXPECT_TRUE(EndedFromOutside(exit));
  exit = Exit(0, 0);
  exit.set_by_agent(true);
  EXPECT_TRUE(EndedFromOutside(exit));
}

}  // namespace
}  // namespace muster::coordinator
