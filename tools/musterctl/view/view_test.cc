#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "tools/musterctl/view/job_detail.h"
#include "tools/musterctl/view/lists.h"
#include "tools/musterctl/view/log_printer.h"
#include "tools/musterctl/view/spark.h"
#include "tools/musterctl/view/style.h"
#include "tools/musterctl/view/table.h"
#include "tools/musterctl/view/test_data.h"
#include "tools/musterctl/view/watch_model.h"
#include "tools/musterctl/view/watch_view.h"
#include "tools/musterctl/view/words.h"

namespace muster::ctl {
namespace {

constexpr Style kPlain{.color = false, .unicode = true, .width = 0};

std::string Watch(const Style& style, int height) {
  WatchModel model;
  model.Add(SomeSnapshot());
  return absl::StrJoin(RenderWatch(style, model, Noon(), height), "\n") + "\n";
}

TEST(Style, WidthCountsCharactersAndNoEscapes) {
  EXPECT_EQ(DisplayWidth("abc"), 3);
  EXPECT_EQ(DisplayWidth("é…█"), 3);
  EXPECT_EQ(DisplayWidth("\033[31mab\033[0m"), 2);
}

TEST(Style, TruncateKeepsEscapesAndWidth) {
  EXPECT_EQ(Truncate(kPlain, "abcdef", 6), "abcdef");
  EXPECT_EQ(Truncate(kPlain, "abcdefg", 6), "abcde…");
  EXPECT_EQ(Truncate({.unicode = false}, "abcdefg", 6), "abc...");
  EXPECT_EQ(Truncate(kPlain, "\033[31mabcdefg\033[0m", 3), "\033[31mab…\033[0m");
  EXPECT_EQ(Truncate(kPlain, "abc", 0), "abc");
  EXPECT_EQ(Truncate(kPlain, "abc", 1), "…");
}

TEST(Style, OneLineLeavesNoControlCharacter) { EXPECT_EQ(OneLine("a\nb\033[2Jc\td"), "a b [2Jc d"); }

TEST(Words, NumbersBytesAndDurations) {
  EXPECT_EQ(WithCommas(0), "0");
  EXPECT_EQ(WithCommas(999), "999");
  EXPECT_EQ(WithCommas(1234567), "1,234,567");
  EXPECT_EQ(WithCommas(-1234), "-1,234");
  EXPECT_EQ(WordsOfBytes(850), "850 B");
  EXPECT_EQ(WordsOfBytes(3 << 20), "3.0 MiB");
  EXPECT_EQ(WordsOfDuration(absl::Milliseconds(850)), "850ms");
  EXPECT_EQ(WordsOfDuration(absl::Milliseconds(3250)), "3.2s");
  EXPECT_EQ(WordsOfDuration(absl::Seconds(192)), "3m12s");
  EXPECT_EQ(WordsOfDuration(absl::Hours(2) + absl::Minutes(5)), "2h05m");
  EXPECT_EQ(WordsOfDuration(absl::Hours(76)), "3d04h");
  EXPECT_EQ(WordsOfDuration(-absl::Seconds(1)), "0ms");
}

TEST(Words, ExitKeepsCodeAndSignalApart) {
  auto words = [](const std::string& text) {
    v1::ExitInfo exit;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &exit));
    return WordsOfExit(exit);
  };
  EXPECT_EQ(words("code: 3"), "exit code 3");
  EXPECT_EQ(words("signal: 11"), "signal 11 (SIGSEGV)");
  EXPECT_EQ(words("signal: 9 oom_killed: true"), "out of memory, signal 9 (SIGKILL)");
  EXPECT_EQ(words("signal: 40"), "signal 40");
  EXPECT_EQ(words(R"(start_error: "no such file")"), "could not be started: no such file");
  EXPECT_EQ(words("code: 1 port_conflict: true"), "exit code 1, its port was taken");
}

TEST(Words, StateIsNotSaidTwice) {
  v1::JobView job;
  job.set_state(v1::CANCELLED);
  job.set_reason("cancelled while it was pending");
  EXPECT_EQ(StateAndReason(kPlain, job), "cancelled while it was pending");
  job.set_reason("why\nnot");
  EXPECT_EQ(StateAndReason(kPlain, job), "cancelled: why not");
  job.clear_reason();
  EXPECT_EQ(StateAndReason(kPlain, job), "cancelled");
}

TEST(Table, ColumnsFitTheirWidestCell) {
  Table table({{"NAME"}, {"N", true}, {"WHY"}});
  table.Add({"a", "1", "x"});
  table.Add({"longer", "1000", ""});
  EXPECT_EQ(table.Render(kPlain), "NAME       N  WHY\na          1  x\nlonger  1000\n");
  EXPECT_EQ(table.Render({.width = 10}), "NAME     …\na        …\nlonger  1…\n");
}

TEST(RenderJobs, EachJobIsALine) {
  v1::JobView pending;
  pending.set_job_id("hello-8");
  pending.set_state(v1::PENDING);
  pending.set_reason("2 nodes with 1 cpu slot are needed, 1 is free");
  pending.mutable_submitted_at()->set_seconds(absl::ToUnixSeconds(Noon()) - 5);
  EXPECT_EQ(
      RenderJobs(kPlain, {SomeDetail().job(), pending}, Noon()),
      "JOB      STATE    NODES  RANKS  GEN     STEP    LOSS    AGE  REASON\n"
      "gpt-7    running      2      2    2  240/500  2.1043  3m12s  step 240 is done\n"
      "hello-8  pending      -      -    0        -       -   5.0s  2 nodes with 1 cpu slot are needed, 1 is free\n");
  EXPECT_EQ(RenderJobs(kPlain, {}, Noon()), "No jobs. Start one with `musterctl submit`.\n");
}

TEST(RenderNodes, SlotsInUseAreCounted) {
  v1::NodeView node;
  node.set_node_id("node-1");
  node.set_state(v1::NODE_UNREACHABLE);
  node.set_reason("connection closed");
  node.set_address("10.0.0.1");
  for (int i = 0; i < 2; ++i) {
    node.add_slots()->set_device(v1::GPU);
    node.mutable_slots(i)->set_index(i);
  }
  node.add_slots_in_use(1);
  node.add_jobs("gpt-7");
  node.set_version("0.1.0");
  node.mutable_last_seen()->set_seconds(absl::ToUnixSeconds(Noon()) - 2);
  EXPECT_EQ(RenderNodes(kPlain, {node}, Noon()),
            "NODE    STATE        ADDRESS   SLOTS IN USE  JOBS       SEEN  VERSION  REASON\n"
            "node-1  unreachable  10.0.0.1  1/2 gpu       gpt-7  2.0s ago  0.1.0    connection closed\n");
}

TEST(RenderCheckpoints, StatesAreTold) {
  std::vector<v1::StoredCheckpoint> checkpoints(2);
  checkpoints[0].set_step(100);
  checkpoints[0].set_published(true);
  checkpoints[0].set_path("/c/step-00000100");
  checkpoints[0].set_bytes(1 << 20);
  checkpoints[1].set_step(200);
  EXPECT_EQ(RenderCheckpoints(kPlain, checkpoints, Noon()),
            "STEP  STATE      GEN  RANKS     SIZE  AGE  PATH\n"
            " 100  published    0      0  1.0 MiB    -  /c/step-00000100\n"
            " 200  committed    0      0      0 B    -\n");
}

TEST(RenderJobDetail, TellsTheStoryOfALostNode) {
  ExpectGolden("describe.txt", RenderJobDetail(kPlain, SomeDetail(), {}, {.now = Noon(), .events = 3}));
}

TEST(RenderJobDetail, FailedCommandShowsItsLastWords) {
  v1::JobDetail detail;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"pb(
        job {
          job_id: "hello-1"
          name: "hello"
          state: FAILED
          reason: "rank 1 on n2 exited with code 3"
          generation: 1
          submitted_at { seconds: 1796126340 }
          finished_at { seconds: 1796126350 }
          restarts { user: 3 total: 3 }
        }
        spec {
          name: "hello"
          nodes { min: 1 max: 1 }
          slots_per_node: 2
          device: GPU
          command: "python3"
          command: "t.py"
          restarts { user: 3 infrastructure: 100 }
        }
        failure {
          generation: 1
          rank: 1
          node_id: "n2"
          message: "rank 1 on n2 exited with code 3"
          exit { code: 3 last_lines: "Traceback" last_lines: "ValueError: x\tis\033[0m bad" }
        }
      )pb",
      &detail));
  ExpectGolden("describe_failed.txt", RenderJobDetail(kPlain, detail, {}, {.now = Noon()}));
}

TEST(RenderWatch, LooksRightAtEachWidth) {
  for (int width : {80, 120}) {
    std::string got = Watch({.color = false, .unicode = true, .width = width}, 0);
    ExpectGolden(absl::StrCat("watch_", width, ".txt"), got);
    for (absl::string_view line : absl::StrSplit(got, '\n')) EXPECT_LE(DisplayWidth(line), width) << line;
  }
  ExpectGolden("watch_ascii.txt", Watch({.color = false, .unicode = false, .width = 80}, 0));
}

TEST(RenderWatch, ColourChangesNoWidth) {
  Style color{.color = true, .unicode = true, .width = 80};
  for (absl::string_view line : absl::StrSplit(Watch(color, 0), '\n')) EXPECT_LE(DisplayWidth(line), 80) << line;
  EXPECT_NE(Watch(color, 0).find("\033[32m"), std::string::npos);
}

TEST(RenderWatch, FitsTheHeight) {
  for (int height : {1, 5, 10, 14}) {
    std::vector<std::string> lines = absl::StrSplit(Watch({.width = 80}, height), '\n');
    EXPECT_LE(lines.size() - 1, static_cast<size_t>(height));
  }
}

TEST(WatchModel, RepeatedSnapshotAddsNothing) {
  WatchModel model;
  model.Add(SomeSnapshot());
  EXPECT_EQ(model.new_events().size(), 5u);
  model.Add(SomeSnapshot());
  EXPECT_TRUE(model.new_events().empty());
  EXPECT_EQ(model.events().size(), 5u);
  EXPECT_EQ(model.steps().size(), 128u);
  EXPECT_EQ(model.newest_val_loss(), 2.25);
}

TEST(WatchModel, LaterGenerationReplacesAStep) {
  auto snapshot = [](uint64_t generation, double loss) {
    v1::JobSnapshot s;
    s.add_steps()->set_generation(generation);
    s.mutable_steps(0)->mutable_metrics()->set_step(7);
    s.mutable_steps(0)->mutable_metrics()->set_loss(loss);
    return s;
  };
  WatchModel model;
  model.Add(snapshot(1, 3.0));
  model.Add(snapshot(2, 2.0));
  model.Add(snapshot(1, 3.0));
  EXPECT_EQ(model.steps().at(7).metrics().loss(), 2.0);
}

TEST(TimeLeft, FollowsTheSpeedOfTheCurrentGeneration) {
  WatchModel model;
  model.Add(SomeSnapshot());
  EXPECT_NEAR(absl::ToDoubleSeconds(TimeLeft(model)), 260 * 0.2, 0.01);
}

TEST(RenderWatch, AfterARestartTheCurveEndsWhereTheJobIs) {
  v1::JobSnapshot snapshot = SomeSnapshot();
  // Generation 2 has begun again at step 200, and done two steps.
  snapshot.mutable_job()->set_step(202);
  for (v1::StoredStep& step : *snapshot.mutable_steps()) {
    int64_t number = step.metrics().step();
    step.set_generation(number > 200 && number <= 202 ? 2 : 1);
    if (number > 200 && number <= 202) step.mutable_metrics()->set_step_seconds(0.5);
  }
  WatchModel model;
  model.Add(snapshot);
  EXPECT_NEAR(absl::ToDoubleSeconds(TimeLeft(model)), 298 * 0.5, 0.01) << "at the speed of generation 2";
  std::string text = absl::StrJoin(RenderWatch({.width = 80}, model, Noon(), 0), "\n");
  EXPECT_NE(text.find("loss   2.1990"), std::string::npos) << text;
}

TEST(WatchGoal, ParsesAndIsReached) {
  v1::JobView job;
  job.set_state(v1::JOB_STARTING);
  job.set_generation(2);
  job.set_step(60);
  EXPECT_TRUE(WatchGoal::Parse("step:60")->ReachedBy(job));
  EXPECT_FALSE(WatchGoal::Parse("step:61")->ReachedBy(job));
  EXPECT_FALSE(WatchGoal::Parse("generation:2")->ReachedBy(job));
  EXPECT_FALSE(WatchGoal::Parse("running")->ReachedBy(job));
  job.set_state(v1::JOB_RUNNING);
  EXPECT_TRUE(WatchGoal::Parse("generation:2")->ReachedBy(job));
  EXPECT_FALSE(WatchGoal::Parse("generation:3")->ReachedBy(job));
  EXPECT_TRUE(WatchGoal::Parse("running")->ReachedBy(job));
  EXPECT_FALSE(WatchGoal::Parse("end")->ReachedBy(job));
  for (const char* bad : {"", "steps:1", "step:", "step:-1", "step:x", "generation"}) {
    EXPECT_EQ(WatchGoal::Parse(bad).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
}

TEST(Sparkline, ScalesAndAverages) {
  EXPECT_EQ(Sparkline(kPlain, {0, 1, 2, 3, 4, 5, 6, 7}, 8), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(Sparkline(kPlain, {0, 0, 7, 7}, 2), "▁█");
  EXPECT_EQ(Sparkline({.unicode = false}, {7, 0}, 10), "#_");
  EXPECT_EQ(Sparkline(kPlain, {5, 5, 5}, 3), "▅▅▅");
  EXPECT_EQ(Sparkline(kPlain, {0, std::numeric_limits<double>::quiet_NaN(), 1}, 3), "▁ █");
  EXPECT_EQ(Sparkline(kPlain, {}, 8), "");
}

TEST(ProgressBar, KeepsItsWidth) {
  EXPECT_EQ(ProgressBar(kPlain, 0, 4), "░░░░");
  EXPECT_EQ(ProgressBar(kPlain, 0.5, 4), "██░░");
  EXPECT_EQ(ProgressBar(kPlain, 1, 4), "████");
  EXPECT_EQ(ProgressBar(kPlain, 0.5625, 4), "██▎░");
  EXPECT_EQ(ProgressBar({.unicode = false}, 0.5, 4), "##..");
  EXPECT_EQ(DisplayWidth(ProgressBar(kPlain, 7, 4)), 4);
}

TEST(RenderLogLine, SaysWhoWroteIt) {
  v1::LogLine line;
  line.set_node_id("node-1");
  line.set_rank(3);
  line.set_generation(2);
  line.set_text("hello");
  EXPECT_EQ(RenderLogLine(kPlain, line), "node-1/3 g2 | hello\n");
  EXPECT_EQ(RenderLogLine({.color = true}, line), "\033[34mnode-1/3 g2 |\033[0m hello\n");
}

TEST(LogResumer, RepeatedStreamShowsEachLineOnce) {
  auto line = [](int rank, const char* time, const char* text) {
    v1::LogLine l;
    l.set_generation(1);
    l.set_rank(rank);
    l.set_time(time);
    l.set_text(text);
    return l;
  };
  std::vector<v1::LogLine> first = {line(0, "t1", "a"), line(0, "t2", "b"), line(1, "t1", "c"), line(0, "t2", "b")};
  LogResumer resumer;
  for (const auto& l : first) EXPECT_TRUE(resumer.IsNew(l));
  resumer.Restart();
  for (const auto& l : first) EXPECT_FALSE(resumer.IsNew(l)) << l.text();
  // A third line of the same time is a new one.
  EXPECT_TRUE(resumer.IsNew(line(0, "t2", "d")));
  EXPECT_TRUE(resumer.IsNew(line(0, "t3", "e")));
  EXPECT_TRUE(resumer.IsNew(line(2, "t0", "first of another rank")));
}

}  // namespace
}  // namespace muster::ctl
