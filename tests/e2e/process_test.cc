#include "tests/e2e/process.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "gtest/gtest.h"

namespace muster::e2e {
namespace {

Process Shell(const std::string& script, const std::string& mark) {
  const std::string out = std::string(std::getenv("TEST_TMPDIR")) + "/" + mark;
  return Process({{"/bin/sh", "-c", script}, {{"PATH", "/usr/bin:/bin"}, {"MARK", mark}}, out, out});
}

TEST(Process, ExitedGivesItsCode) {
  const std::optional<Ended> ended = Shell("exit 7", "code").Wait(absl::Seconds(30));
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->code, 7);
  EXPECT_EQ(ended->signal, 0);
}

TEST(Process, KilledGivesItsSignal) {
  Process process = Shell("kill -TERM $$", "signal");
  const std::optional<Ended> ended = process.Wait(absl::Seconds(30));
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->signal, SIGTERM);
}

TEST(Process, RunningIsFoundByItsEnvironmentAndDiesWithTheObject) {
  pid_t pid = 0;
  {
    Process process = Shell("exec sleep 1000", "sleeper");
    pid = process.pid();
    EXPECT_FALSE(process.Wait(absl::Milliseconds(1)).has_value());
    EXPECT_TRUE(WaitUntil(absl::Seconds(30), [&] {
      const std::vector<pid_t> found = ProcessesWith({{"MARK", "sleeper"}});
      return std::count(found.begin(), found.end(), pid) == 1;
    }));
    EXPECT_TRUE(ProcessesWith({{"MARK", "sleep"}}).empty());
    EXPECT_TRUE(IsAlive(pid));
  }
  EXPECT_FALSE(IsAlive(pid));
}

TEST(Process, OutputGoesToTheFile) {
  Process process = Shell("echo hello; echo there >&2", "output");
  ASSERT_TRUE(process.Wait(absl::Seconds(30)).has_value());
  std::ifstream in(std::string(std::getenv("TEST_TMPDIR")) + "/output");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "hello\nthere\n");
}

}  // namespace
}  // namespace muster::e2e
