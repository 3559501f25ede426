#include "tools/musterctl/flags/flags.h"

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tools/musterctl/commands/fake_client.h"
#include "tools/musterctl/exit_code.h"

namespace muster::ctl {
namespace {

using ::testing::HasSubstr;

// What a person at the keyboard sees, with a coordinator of canned answers.
class FlagsTest : public ::testing::Test {
 protected:
  // The exit code; output in out_ and err_.
  int Run(const std::vector<std::string>& arguments) {
    out_ = std::stringstream();
    err_ = std::stringstream();
    absl::StatusOr<Invocation> invocation = ParseFlags(arguments, "");
    if (!invocation.ok()) return Fail(invocation.status());
    if (!invocation->help.empty()) {
      out_ << invocation->help;
      return 0;
    }
    Session session;
    session.out = &out_;
    session.err = &err_;
    session.json = invocation->json;
    session.terminal_size = [this] { return terminal_; };
    session.style = {.color = false, .unicode = true, .width = terminal_.first};
    session.address = invocation->coordinator;
    session.connect = [this]() -> absl::StatusOr<CtlClient*> { return &client_; };
    absl::StatusOr<ExitCode> code = invocation->run(session);
    return code.ok() ? static_cast<int>(*code) : Fail(code.status());
  }

  std::string Write(const std::string& name, const std::string& content) {
    std::string path = ::testing::TempDir() + "/" + name;
    std::ofstream(path) << content;
    return path;
  }

  void Snapshot(v1::JobState state, int64_t step = 0, uint64_t generation = 1) {
    v1::JobSnapshot snapshot;
    snapshot.mutable_job()->set_job_id("gpt-7");
    snapshot.mutable_job()->set_state(state);
    snapshot.mutable_job()->set_reason("because");
    snapshot.mutable_job()->set_step(step);
    snapshot.mutable_job()->set_total_steps(100);
    snapshot.mutable_job()->set_generation(generation);
    client_.snapshots.push_back(snapshot);
  }

  FakeClient client_;
  std::pair<int, int> terminal_ = {0, 0};
  std::stringstream out_;
  std::stringstream err_;

 private:
  int Fail(const absl::Status& status) {
    EXPECT_EQ(status.message().find('\n'), status.message().npos) << "one line: " << status.message();
    err_ << status.message();
    return static_cast<int>(ExitCodeOf(status));
  }
};

TEST_F(FlagsTest, WrongUseIsOneLineWithARemedy) {
  struct Case {
    std::vector<std::string> arguments;
    std::string message;
  };
  for (const Case& c : std::vector<Case>{
           {{}, "no command given; try musterctl submit, list, watch or --help"},
           {{"submti", "x.yaml"}, "unknown command submti; did you mean submit? See musterctl --help"},
           {{"list", "--unfinshed"}, "unknown flag --unfinshed; did you mean --unfinished? See musterctl list --help"},
           {{"list", "--cordinator", "x:1"},
            "unknown flag --cordinator; did you mean --coordinator? See musterctl list --help"},
           {{"list", "now"}, "unknown argument now; see musterctl list --help"},
           {{"describe"}, "job is required; see musterctl describe --help"},
           {{"checkpoint"}, "A subcommand is required; see musterctl checkpoint --help"},
           {{"wait", "x", "--timeout", "soon"},
            "--timeout: soon is not a duration; give one such as 30s or 5m; see musterctl wait --help"},
           {{"watch", "x", "--until", "dawn"},
            "--until dawn: not a goal; use end, running, step:N or generation:N; see musterctl watch --help"},
           {{"list", "--", "true"}, "-- true: only submit takes a command; remove it"},
           {{"submit", "--"}, "--: no command after it; give a program and its arguments"},
           {{"--coordinator", "host", "list"},
            "--coordinator host: not an address; give HOST:PORT, such as 10.0.0.1:7070"},
           {{"--coordinator", "::1:7070", "list"},
            "--coordinator ::1:7070: not an address; give HOST:PORT, such as 10.0.0.1:7070"},
           {{"--coordinator", "h:99999", "list"},
            "--coordinator h:99999: not an address; give HOST:PORT, such as 10.0.0.1:7070"},
       }) {
    EXPECT_EQ(Run(c.arguments), 2);
    EXPECT_EQ(err_.str(), c.message);
  }
}

TEST_F(FlagsTest, HelpOfEachCommandHasItsUsage) {
  for (const char* command :
       {"submit", "watch", "wait", "logs", "plot", "list", "describe", "cancel", "nodes", "cluster", "version"}) {
    EXPECT_EQ(Run({command, "--help"}), 0);
    EXPECT_THAT(out_.str(), HasSubstr(std::string("Usage: musterctl ") + command));
  }
  EXPECT_EQ(Run({"checkpoint", "verify", "--help"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("Usage: musterctl checkpoint verify"));
  EXPECT_EQ(Run({"--help"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("Exit codes:"));
}

TEST_F(FlagsTest, EnvironmentNamesTheCoordinatorAndTheFlagWins) {
  EXPECT_EQ(ParseFlags({"list"}, "")->coordinator, "127.0.0.1:7070");
  EXPECT_EQ(ParseFlags({"list"}, "h:1")->coordinator, "h:1");
  EXPECT_EQ(ParseFlags({"list", "--coordinator", "[::1]:2"}, "h:1")->coordinator, "[::1]:2");
  EXPECT_EQ(ParseFlags({"--connect-timeout", "300ms", "list"}, "")->connect_timeout, absl::Milliseconds(300));
}

TEST_F(FlagsTest, SubmitFromFlagsSendsTheWholeSpec) {
  EXPECT_EQ(
      Run({"submit", "--name", "hello", "--nodes",  "2:8", "--slots", "4",        "--device", "gpu", "--env", "A=b=c",
           "--env",  "D=",     "--set", "grace=3s", "--",  "python3", "train.py", "--epochs", "9",   "--"}),
      0)
      << err_.str();
  EXPECT_EQ(out_.str(), "submitted hello-1\n");
  ASSERT_EQ(client_.submitted.size(), 1u);
  const v1::JobSpec& spec = client_.submitted[0].first;
  EXPECT_EQ(spec.nodes().min(), 2);
  EXPECT_EQ(spec.nodes().max(), 8);
  EXPECT_EQ(spec.slots_per_node(), 4);
  EXPECT_EQ(spec.device(), v1::GPU);
  EXPECT_EQ(spec.env().at("A"), "b=c");
  EXPECT_EQ(spec.env().at("D"), "");
  EXPECT_EQ(spec.grace().seconds(), 3);
  EXPECT_EQ(std::vector<std::string>(spec.command().begin(), spec.command().end()),
            std::vector<std::string>({"python3", "train.py", "--epochs", "9", "--"}));
  EXPECT_EQ(spec.restarts().user(), 3) << "defaults are in";
  EXPECT_GE(client_.submitted[0].second.size(), 16u);
}

TEST_F(FlagsTest, EachSubmitHasATokenOfItsOwn) {
  Run({"submit", "--name", "a", "--", "true"});
  Run({"submit", "--name", "a", "--", "true"});
  ASSERT_EQ(client_.submitted.size(), 2u);
  EXPECT_NE(client_.submitted[0].second, client_.submitted[1].second);
}

TEST_F(FlagsTest, FlagsChangeWhatTheFileSays) {
  std::string path = Write("job.yaml", "name: a\nnodes: {min: 1, max: 2}\ncommand: [x]\n");
  EXPECT_EQ(Run({"submit", path, "--nodes", "3", "--name", "b", "--set", "command=[y, z]"}), 0) << err_.str();
  EXPECT_EQ(client_.submitted[0].first.name(), "b");
  EXPECT_EQ(client_.submitted[0].first.nodes().max(), 3);
  EXPECT_EQ(client_.submitted[0].first.command(1), "z");
}

TEST_F(FlagsTest, BadSubmitSendsNothing) {
  std::string path = Write("bad.yaml", "name: a\nnodes:\n  min: 4\n  max: 2\ncommand: [x]\n");
  struct Case {
    std::vector<std::string> arguments;
    std::string message;
  };
  for (const Case& c : std::vector<Case>{
           {{"submit", path}, path + ":4:3: nodes.max: 2 is below nodes.min 4; raise max or lower min"},
           {{"submit", path, "--", "y"}, "-- y: " + path + " says already what to run; remove the command or the file"},
           {{"submit"},
            "submit: nothing to run; give a FILE.yaml, or a command after --, such as: musterctl submit --name hello "
            "-- "
            "echo hi"},
           {{"submit", "--nodes", "2:x", "--", "y"},
            "--nodes 2:x: not a number of nodes; give one such as 4, or a range such as 2:8"},
           {{"submit", "--env", "A", "--", "y"},
            "--env A: not an assignment; give a name and a value, such as --env NAME=value"},
           {{"submit", "--name", "a", "--", "\xff"},
            "command[0]: not valid UTF-8; write it in UTF-8, or put the bytes into a file"},
       }) {
    EXPECT_EQ(Run(c.arguments), 2);
    EXPECT_EQ(err_.str(), c.message);
  }
  EXPECT_EQ(Run({"submit", "/no/such/job.yaml"}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("/no/such/job.yaml"));
  EXPECT_TRUE(client_.submitted.empty());
}

TEST_F(FlagsTest, DryRunPrintsAFileThatGivesTheSameJob) {
  EXPECT_EQ(Run({"submit", "--name", "a", "--env", "B=yes", "--dry-run", "--", "sh", "-c", "echo \"$RANK\" # x"}), 0);
  EXPECT_TRUE(client_.submitted.empty());
  std::string yaml = out_.str();
  EXPECT_EQ(Run({"submit", Write("again.yaml", yaml), "--dry-run"}), 0) << err_.str();
  EXPECT_EQ(out_.str(), yaml);
}

TEST_F(FlagsTest, MissingDataIsAWarningAndBadDataAnError) {
  std::string data = Write("not-tokens.bin", std::string(4096, 'x'));
  auto yaml = [](const std::string& path) {
    return "name: a\ntrain: {data: {train: " + path + "}, steps: 5}\ncheckpoint: {dir: /c}\n";
  };
  EXPECT_EQ(Run({"submit", Write("t.yaml", yaml("/no/such/data.bin"))}), 0);
  EXPECT_THAT(err_.str(), HasSubstr("warning: train.data.train: /no/such/data.bin"));
  EXPECT_EQ(client_.submitted.size(), 1u);
  EXPECT_EQ(Run({"submit", Write("t.yaml", yaml(data))}), 2);
  EXPECT_THAT(err_.str(), HasSubstr(data));
  EXPECT_EQ(client_.submitted.size(), 1u);
  EXPECT_EQ(Run({"submit", "--no-preflight", Write("t.yaml", yaml(data))}), 0);
  EXPECT_EQ(client_.submitted.size(), 2u);
}

TEST_F(FlagsTest, WaitEndsAsTheJobDid) {
  for (auto [state, code] : {std::pair(v1::SUCCEEDED, 0), std::pair(v1::FAILED, 1), std::pair(v1::CANCELLED, 3)}) {
    client_.snapshots.clear();
    Snapshot(v1::JOB_RUNNING);
    Snapshot(state);
    EXPECT_EQ(Run({"wait", "gpt"}), code);
    EXPECT_EQ(Run({"watch", "gpt"}), code);
  }
  EXPECT_EQ(Run({"wait", "gpt"}), 3);
  EXPECT_EQ(out_.str(), "gpt-7 cancelled: because\n");
}

TEST_F(FlagsTest, WaitGivesUpAfterItsTime) {
  Snapshot(v1::JOB_RUNNING);
  EXPECT_EQ(Run({"wait", "gpt", "--timeout", "2"}), 4);
  EXPECT_EQ(err_.str(), "gpt-7 is not done after 2s; it is running: because");
  EXPECT_EQ(Run({"watch", "gpt", "--timeout", "1m"}), 4);
}

TEST_F(FlagsTest, WatchUntilEndsAtItsGoal) {
  Snapshot(v1::JOB_RUNNING, 10);
  Snapshot(v1::JOB_RUNNING, 60);
  Snapshot(v1::FAILED, 60);
  EXPECT_EQ(Run({"watch", "gpt", "--until", "step:60"}), 0);
  EXPECT_EQ(Run({"watch", "gpt", "--until", "running"}), 0);
  EXPECT_EQ(Run({"watch", "gpt", "--until", "step:61"}), 1);
  EXPECT_EQ(err_.str(), "gpt-7 ended before that: failed, at step 60 in generation 1\n");
  EXPECT_EQ(Run({"watch", "gpt", "--until", "generation:2"}), 1);
  client_.snapshots.back().mutable_job()->set_state(v1::CANCELLED);
  EXPECT_EQ(Run({"watch", "gpt", "--until", "generation:2"}), 3);
}

TEST_F(FlagsTest, WatchWithoutATerminalPrintsLinesAndNoEscapes) {
  Snapshot(v1::JOB_RUNNING, 10);
  client_.snapshots[0].add_events()->set_type("FirstStep");
  Snapshot(v1::SUCCEEDED, 100);
  EXPECT_EQ(Run({"watch", "gpt"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("gpt-7 running, generation 1: because\n"));
  EXPECT_THAT(out_.str(), HasSubstr("FirstStep"));
  EXPECT_THAT(out_.str(), HasSubstr("step 100/100 (100%)"));
  EXPECT_EQ(out_.str().find('\033'), std::string::npos);
}

TEST_F(FlagsTest, WatchOnATerminalDrawsInPlace) {
  terminal_ = {80, 24};
  Snapshot(v1::JOB_RUNNING, 10);
  Snapshot(v1::SUCCEEDED, 100);
  EXPECT_EQ(Run({"watch", "gpt"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("\033[6A")) << "back to the first of six lines";
}

TEST_F(FlagsTest, JsonIsReadable) {
  Snapshot(v1::JOB_RUNNING, 10);
  Snapshot(v1::SUCCEEDED, 100);
  EXPECT_EQ(Run({"watch", "gpt", "--json"}), 0);
  std::string line;
  int lines = 0;
  for (; std::getline(out_, line); ++lines) EXPECT_EQ(nlohmann::json::parse(line)["job"]["job_id"], "gpt-7");
  EXPECT_EQ(lines, 2);
  EXPECT_EQ(Run({"nodes", "--json"}), 0);
  EXPECT_TRUE(nlohmann::json::parse(out_.str())["nodes"].empty());
  EXPECT_EQ(Run({"version", "--json"}), 0);
  EXPECT_EQ(nlohmann::json::parse(out_.str())["protocol"], 1);
}

TEST_F(FlagsTest, LogsPassTheirFlagsAndRepeatNoLine) {
  v1::LogLine* line = client_.lines.add_lines();
  line->set_node_id("n1");
  line->set_time("2026-12-01T12:00:00Z");
  line->set_text("hello");
  EXPECT_EQ(Run({"logs", "-f", "gpt", "--rank", "0", "--rank", "2", "--generation", "3", "--tail", "5"}), 0);
  EXPECT_EQ(out_.str(), "n1/0 g0 | hello\n");
  EXPECT_EQ(err_.str(), "coordinator away (connection refused), trying again\n");
  const v1::StreamLogsRequest& request = client_.logs_asked[0];
  EXPECT_EQ(request.job(), "gpt");
  EXPECT_TRUE(request.follow());
  EXPECT_EQ(std::vector<int32_t>(request.ranks().begin(), request.ranks().end()), std::vector<int32_t>({0, 2}));
  EXPECT_EQ(request.generation(), 3u);
  EXPECT_EQ(request.tail(), 5);
}

TEST_F(FlagsTest, PlotWritesAPictureOrSaysWhyNot) {
  client_.detail.mutable_job()->set_job_id("gpt-7");
  client_.detail.mutable_job()->set_total_steps(5);
  EXPECT_EQ(Run({"plot", "gpt"}), 1);
  EXPECT_EQ(err_.str(), "gpt-7 has no steps to draw yet; wait for its first one");
  client_.steps.resize(1);
  client_.steps[0].mutable_metrics()->set_step(1);
  client_.steps[0].mutable_metrics()->set_loss(5.5);
  std::string path = ::testing::TempDir() + "/loss.svg";
  EXPECT_EQ(Run({"plot", "gpt", "-o", path}), 0) << err_.str();
  std::stringstream svg;
  svg << std::ifstream(path).rdbuf();
  EXPECT_THAT(svg.str(), HasSubstr("</svg>"));
  EXPECT_EQ(Run({"plot", "gpt"}), 0);
  EXPECT_EQ(Run({"plot", "gpt", "--timeline", "4"}), 1);
  EXPECT_EQ(err_.str(), "gpt-7 has no generation 4; the newest is 0");
}

TEST_F(FlagsTest, DataPackNamesItsFilesAfterTheOutput) {
  std::string text = Write("text.txt", std::string(5000, 'a'));
  std::string prefix = ::testing::TempDir() + "/packed";
  EXPECT_EQ(Run({"data", "pack", text, "-o", prefix, "--val-fraction", "0.1", "--json"}), 0) << err_.str();
  nlohmann::json json = nlohmann::json::parse(out_.str());
  EXPECT_EQ(json["train"][0]["path"], prefix + "-train.bin");
  EXPECT_EQ(json["val"][0]["path"], prefix + "-val.bin");
  EXPECT_EQ(json["val"][0]["tokens"], 500);
  EXPECT_EQ(Run({"data", "pack", text, "-o", prefix + "-one.bin"}), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr(prefix + "-one.bin"));
  EXPECT_EQ(Run({"data", "stat", prefix + "-one.bin", "--json"}), 0) << err_.str();
  json = nlohmann::json::parse(out_.str());
  EXPECT_EQ(json["max_token"], 'a');
  EXPECT_EQ(Run({"data", "stat", text}), 2);
}

TEST_F(FlagsTest, CheckpointOfAFolderWithoutOneIsNamed) {
  EXPECT_EQ(Run({"checkpoint", "verify", "/no/such/folder"}), 1);
  EXPECT_THAT(err_.str(), HasSubstr("/no/such/folder"));
  EXPECT_EQ(Run({"checkpoint", "ls", "/no/such/folder"}), 1);
  client_.checkpoints.add_checkpoints()->set_step(40);
  EXPECT_EQ(Run({"checkpoint", "ls", "gpt"}), 0);
  EXPECT_THAT(out_.str(), HasSubstr("40"));
}

}  // namespace
}  // namespace muster::ctl
