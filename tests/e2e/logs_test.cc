// Logs: every line of every rank, attributed, to the last one; and still there when the node is not.
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/cluster.h"

namespace muster::e2e {
namespace {

using ::testing::HasSubstr;

// Numbers of the lines "... <prefix><n>" by what stands before the text, in the order they came.
std::map<std::string, std::vector<int>> Numbered(const std::string& output, const std::string& prefix) {
  std::map<std::string, std::vector<int>> lines;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(output, '\n', absl::SkipEmpty()))) {
    const size_t at = line.find(prefix);
    int number = 0;
    if (at == std::string::npos || !absl::SimpleAtoi(line.substr(at + prefix.size()), &number)) {
      ADD_FAILURE() << "not a line of the job's: " << line;
      continue;
    }
    lines[line.substr(0, at)].push_back(number);
  }
  return lines;
}

TEST(Logs, FollowGivesEveryLineOfEveryRankAndEnds) {
  Cluster cluster;
  cluster.StartAgents({"n1", "n2"});
  const std::string script = cluster.Write(
      "talk.sh",
      "i=0; while [ $i -lt 500 ]; do echo line $i; i=$((i + 1)); [ $((i % 100)) != 0 ] || sleep 0.1; done\n");
  const std::string id = cluster.Submit("name: talk\nnodes: {min: 2}\ncommand: [sh, " + script + "]\n");
  Process follow = cluster.StartCtl("follow", {"logs", "-f", id});
  const std::optional<Ended> ended = follow.Wait(absl::Seconds(60));
  ASSERT_TRUE(ended.has_value()) << "logs -f did not end with the job";
  EXPECT_EQ(ended->code, 0) << cluster.Read("follow.err");
  EXPECT_EQ(cluster.Get(id).job().state(), v1::SUCCEEDED);

  std::vector<int> all(500);
  for (int i = 0; i < 500; ++i) all[i] = i;
  const auto lines = Numbered(cluster.Read("follow.out"), "line ");
  ASSERT_EQ(lines.size(), 2u) << "one origin a rank";
  for (const v1::RankView& rank : cluster.Get(id).ranks()) {
    bool found = false;
    for (const auto& [origin, numbers] : lines) {
      if (!absl::StartsWith(origin, absl::StrCat(rank.node_id(), "/", rank.rank(), " "))) continue;
      found = true;
      EXPECT_EQ(numbers, all) << origin;
    }
    EXPECT_TRUE(found) << "rank " << rank.rank();
  }
  EXPECT_EQ(Numbered(cluster.Ctl({"logs", id, "--rank", "1"}).out, "line ").size(), 1u);
  EXPECT_EQ(Numbered(cluster.Ctl({"logs", id, "--rank", "0", "--tail", "3"}).out, "line ").begin()->second,
            std::vector<int>({497, 498, 499}));
}

TEST(Logs, LastLinesBeforeADeathAreThere) {
  Cluster cluster;
  cluster.StartAgents({"n1"});
  const std::string id = cluster.Submit(
      "name: last\ncommand: [sh, -c, 'echo one; echo two >&2; printf three; kill -9 $$']\nrestarts: {user: 0, "
      "infrastructure: 0}\n");
  const v1::JobDetail failed = cluster.WaitForState(id, v1::FAILED);
  EXPECT_EQ(failed.failure().exit().signal(), 9);
  const std::string out = cluster.Ctl({"logs", id}).out;
  for (const std::string word : {"one", "two", "three"}) EXPECT_THAT(out, HasSubstr(word));
}

TEST(Logs, OfADeadNodeAreStillThere) {
  Cluster cluster;
  cluster.StartAgents({"n1", "n2"});
  const std::string id = cluster.Submit(
      "name: gone\nnodes: {min: 1, max: 2}\ncommand: [sh, -c, 'echo here is rank $RANK; exec sleep 1000']\n");
  const v1::JobDetail before = cluster.WaitFor(id, "two ranks that run", [](const v1::JobDetail& d) {
    return d.job().world_size() == 2 && d.job().state() == v1::JOB_RUNNING;
  });
  const auto logs = [&] { return cluster.Ctl({"logs", id, "--generation", "1"}).out; };
  EXPECT_TRUE(WaitUntil(absl::Seconds(20), [&] { return absl::StrContains(logs(), "here is rank 1"); }));
  std::string victim;
  for (const v1::RankView& rank : before.ranks()) victim = rank.rank() == 1 ? rank.node_id() : victim;
  cluster.KillNode(victim);
  cluster.WaitFor(id, "going on alone", [](const v1::JobDetail& d) { return d.job().world_size() == 1; });
  EXPECT_THAT(logs(), HasSubstr(absl::StrCat(victim, "/1")));
  EXPECT_THAT(logs(), HasSubstr("here is rank 1"));
}

TEST(Logs, CoordinatorKilledMeanwhileLosesNoLine) {
  Cluster cluster;
  cluster.StartAgents({"n1"});
  const std::string script =
      cluster.Write("slow.sh", "i=0; while [ $i -lt 200 ]; do echo line $i; i=$((i + 1)); sleep 0.02; done\n");
  const std::string id = cluster.Submit("name: slow\ncommand: [sh, " + script + "]\n");
  Process follow = cluster.StartCtl("follow", {"logs", "-f", id});
  EXPECT_TRUE(WaitUntil(absl::Seconds(30), [&] { return absl::StrContains(cluster.Read("follow.out"), "line 30"); }));
  cluster.KillCoordinator();
  cluster.StartCoordinator();
  cluster.WaitForState(id, v1::SUCCEEDED);
  const std::optional<Ended> ended = follow.Wait(absl::Seconds(30));
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->code, 0) << cluster.Read("follow.err");
  const auto lines = Numbered(cluster.Read("follow.out"), "line ");
  ASSERT_EQ(lines.size(), 1u);
  std::vector<int> all(200);
  for (int i = 0; i < 200; ++i) all[i] = i;
  EXPECT_EQ(lines.begin()->second, all);
}

}  // namespace
}  // namespace muster::e2e
