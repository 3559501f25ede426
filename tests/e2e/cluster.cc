#include "tests/e2e/cluster.h"

#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/random_id.h"
#include "gtest/gtest.h"

namespace muster::e2e {
namespace {

namespace fs = std::filesystem;

// Under Bazel a test starts in its runfiles.
std::string Program(const std::string& path) { return fs::absolute(path).string(); }

std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// Short, since the programs make Unix sockets below it.
std::string MakeDir() {
  std::string pattern = "/tmp/muster-e2e-XXXXXX";
  const char* made = ::mkdtemp(pattern.data());
  EXPECT_NE(made, nullptr) << "no folder in /tmp";
  return pattern;
}

std::string Summary(v1::JobDetail job) {
  for (v1::StoredGeneration& generation : *job.mutable_generations()) generation.clear_nodes();
  job.clear_spec();
  return job.DebugString();
}

// Calls until the coordinator answers, for it may just be coming up, and a connection to the one before may yet have to
// be found dead.
template <typename Call>
grpc::Status Patiently(Call call) {
  grpc::Status status;
  WaitUntil(absl::Seconds(30), [&] {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(Now() + absl::Seconds(10)));
    status = call(&context);
    return status.error_code() != grpc::StatusCode::UNAVAILABLE;
  });
  return status;
}

}  // namespace

Cluster::Cluster(const Options& options) : options_(options), id_(RandomId()), dir_(MakeDir()) {
  if (options_.network != nullptr) host_ = options_.network->gateway();
  fs::create_directories(dir_ + "/log");
  StartCoordinator();
}

Cluster::~Cluster() {
  if (::testing::Test::HasFailure()) DumpLogs();
  coordinator_.Kill();
  agents_.clear();
  KillAll({{"MUSTER_E2E", id_}});
  std::error_code ignored;
  fs::remove_all(dir_, ignored);
}

std::string Cluster::address() const { return absl::StrCat(host_, ":", port_); }

std::string Cluster::LogPath(const std::string& program) const { return absl::StrCat(dir_, "/log/", program, ".log"); }

std::map<std::string, std::string> Cluster::Environment(const std::string& node) const {
  std::map<std::string, std::string> env = {{"PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"},
                                            {"HOME", dir_},
                                            {"MUSTER_E2E", id_},
                                            {"MUSTER_COORDINATOR", address()}};
  if (!node.empty()) env["MUSTER_E2E_NODE"] = node;
  return env;
}

void Cluster::StartCoordinator() {
  const std::string port_file = dir_ + "/port";
  fs::remove(port_file);
  const std::string listen = absl::StrCat(host_, ":", port_.empty() ? "0" : port_);
  coordinator_ =
      Process({{Program("coordinator/muster-coordinator"), "--listen", listen, "--data_dir", dir_ + "/coordinator",
                "--port_file", port_file, "--lease", absl::FormatDuration(options_.lease), "--gather_window",
                absl::FormatDuration(options_.gather_window)},
               Environment(""),
               LogPath("coordinator"),
               LogPath("coordinator")});
  const bool up = WaitUntil(absl::Seconds(30), [&] { return !ReadAll(port_file).empty(); });
  ASSERT_TRUE(up) << "the coordinator did not come up:\n" << ReadAll(LogPath("coordinator"));
  port_ = std::string(absl::StripAsciiWhitespace(ReadAll(port_file)));
  if (stub_ == nullptr) {
    grpc::ChannelArguments args;
    args.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
    args.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 50);
    args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 200);
    stub_ = v1::CtlService::NewStub(grpc::CreateCustomChannel(address(), grpc::InsecureChannelCredentials(), args));
  }
}

void Cluster::KillCoordinator() { coordinator_.Kill(); }

std::vector<std::string> Cluster::AgentArgv(const std::string& node, const std::string& coordinator,
                                            const std::string& state_dir, int slots) {
  return {Program("agent/muster-agent"),
          "--coordinator",
          coordinator,
          "--node_id",
          node,
          "--state_dir",
          absl::StrCat(dir_, "/", state_dir),
          "--address",
          options_.network == nullptr ? "127.0.0.1" : options_.network->AddressOf(node),
          "--gpus",
          "none",
          "--cpu_slots",
          absl::StrCat(slots),
          "--worker",
          Program("worker/muster-worker"),
          "--shim",
          Program("agent/shim/muster-shim")};
}

Process Cluster::StartStrayAgent(const std::string& name, const std::string& node, const std::string& coordinator) {
  return Process({AgentArgv(node, coordinator, name, 1), Environment(name), absl::StrCat(dir_, "/", name, ".out"),
                  absl::StrCat(dir_, "/", name, ".err")});
}

void Cluster::StartAgent(const std::string& node, int slots) {
  Process::Options options = {AgentArgv(node, address(), node, slots), Environment(node), LogPath(node), LogPath(node)};
  options.own_network = options_.network != nullptr;
  agents_.erase(node);
  Process& agent = agents_.emplace(node, Process(options)).first->second;
  if (options_.network != nullptr) {
    // Its namespace is there once it differs from ours.
    const std::string path = absl::StrCat("/proc/", agent.pid(), "/ns/net");
    EXPECT_TRUE(WaitUntil(absl::Seconds(10), [&] {
      std::error_code error;
      return fs::read_symlink(path, error) != fs::read_symlink("/proc/self/ns/net", error);
    }));
    options_.network->Attach(node, agent.pid());
    agent.Release();
  }
}

void Cluster::StartAgents(const std::vector<std::string>& nodes, int slots) {
  for (const std::string& node : nodes) StartAgent(node, slots);
  for (const std::string& node : nodes) WaitForNode(node, v1::NODE_READY);
}

void Cluster::KillAgentOnly(const std::string& node) { agents_.at(node).Kill(); }

void Cluster::KillNode(const std::string& node) {
  KillAll({{"MUSTER_E2E", id_}, {"MUSTER_E2E_NODE", node}});
  agents_.erase(node);
}

// Again until none is left: one that was just being started is in no list before.
void Cluster::KillAll(const std::map<std::string, std::string>& wanted) {
  EXPECT_TRUE(WaitUntil(absl::Seconds(10), [&] {
    const std::vector<pid_t> pids = ProcessesWith(wanted);
    for (const pid_t pid : pids) ::kill(pid, SIGKILL);
    return pids.empty();
  })) << "processes that SIGKILL does not end";
}

void Cluster::KillWorker(const std::string& job, int rank) {
  const std::map<int, int> pids = Pids(Get(job));
  ASSERT_TRUE(pids.contains(rank)) << "no process of rank " << rank;
  ASSERT_EQ(::kill(pids.at(rank), SIGKILL), 0);
}

Process Cluster::StartCtl(const std::string& name, const std::vector<std::string>& args) {
  std::vector<std::string> argv = {Program("tools/musterctl/musterctl")};
  argv.insert(argv.end(), args.begin(), args.end());
  return Process({argv, Environment(""), absl::StrCat(dir_, "/", name, ".out"), absl::StrCat(dir_, "/", name, ".err")});
}

CtlResult Cluster::Ctl(const std::vector<std::string>& args, absl::Duration timeout) {
  const std::string name = absl::StrCat("ctl-", ++files_);
  Process process = StartCtl(name, args);
  const std::optional<Ended> ended = process.Wait(timeout);
  CtlResult result;
  result.out = Read(name + ".out");
  result.err = Read(name + ".err");
  if (ended.has_value() && ended->signal == 0) {
    result.code = ended->code;
  } else {
    ADD_FAILURE() << "musterctl " << absl::StrJoin(args, " ")
                  << (ended.has_value() ? absl::StrCat(" died of signal ", ended->signal) : " did not end") << "\n"
                  << result.out << result.err;
  }
  return result;
}

std::string Cluster::Write(const std::string& name, const std::string& content) {
  const std::string path = absl::StrCat(dir_, "/", name);
  std::ofstream out(path, std::ios::binary);
  out << content;
  out.close();
  EXPECT_TRUE(out.good()) << path;
  return path;
}

std::string Cluster::Read(const std::string& name) const { return ReadAll(absl::StrCat(dir_, "/", name)); }

std::string Cluster::Submit(const std::string& yaml) {
  const CtlResult result = Ctl({"submit", Write(absl::StrCat("job-", ++files_, ".yaml"), yaml)});
  EXPECT_EQ(result.code, 0) << result.err << yaml;
  const std::vector<std::string> words = absl::StrSplit(result.out, absl::ByAnyChar(" \n"), absl::SkipEmpty());
  if (words.size() < 2 || words[0] != "submitted") {
    ADD_FAILURE() << "submit said: " << result.out;
    return "";
  }
  jobs_.push_back(words[1]);
  return words[1];
}

v1::JobDetail Cluster::Get(const std::string& job) {
  v1::GetJobRequest request;
  request.set_job(job);
  v1::JobDetail detail;
  const grpc::Status status = Patiently([&](auto* context) { return stub_->GetJob(context, request, &detail); });
  EXPECT_TRUE(status.ok()) << "GetJob " << job << ": " << status.error_message();
  return detail;
}

v1::JobDetail Cluster::WaitFor(const std::string& job, const std::string& what,
                               const std::function<bool(const v1::JobDetail&)>& wanted, absl::Duration timeout) {
  v1::JobDetail detail;
  bool reached = false;
  WaitUntil(timeout, [&] {
    detail = Get(job);
    reached = wanted(detail);
    return reached || Finished(detail.job().state()) || detail.job().job_id().empty();
  });
  EXPECT_TRUE(reached) << "waited for: " << what << "; the job is:\n" << Summary(detail);
  return detail;
}

v1::JobDetail Cluster::WaitForState(const std::string& job, v1::JobState state, absl::Duration timeout) {
  return WaitFor(
      job, v1::JobState_Name(state), [state](const v1::JobDetail& d) { return d.job().state() == state; }, timeout);
}

v1::JobDetail Cluster::WaitForStep(const std::string& job, int64_t step) {
  return WaitFor(job, absl::StrCat("step ", step), [step](const v1::JobDetail& d) { return d.job().step() >= step; });
}

std::map<std::string, v1::NodeView> Cluster::Nodes() {
  v1::ListNodesReply reply;
  const grpc::Status status = Patiently([&](auto* context) { return stub_->ListNodes(context, {}, &reply); });
  EXPECT_TRUE(status.ok()) << "ListNodes: " << status.error_message();
  std::map<std::string, v1::NodeView> nodes;
  for (const v1::NodeView& node : reply.nodes()) nodes[node.node_id()] = node;
  return nodes;
}

void Cluster::WaitForNode(const std::string& node, v1::NodeState state) {
  EXPECT_TRUE(WaitUntil(absl::Seconds(30), [&] { return Nodes()[node].state() == state; }))
      << node << " is not " << v1::NodeState_Name(state) << ":\n"
      << Nodes()[node].DebugString() << ReadAll(LogPath(node));
}

std::vector<v1::JobView> Cluster::Jobs() {
  v1::ListJobsReply reply;
  const grpc::Status status = Patiently([&](auto* context) { return stub_->ListJobs(context, {}, &reply); });
  EXPECT_TRUE(status.ok()) << "ListJobs: " << status.error_message();
  return {reply.jobs().begin(), reply.jobs().end()};
}

std::string Cluster::PackData() {
  // Words that follow each other by a rule, so that there is something to learn.
  std::string text;
  unsigned state = 1;
  const std::vector<std::string> words = {"the", "node", "that", "fell", "came", "back", "and", "went", "on", "again"};
  while (text.size() < 60000) {
    state = state * 1103515245 + 12345;
    text += words[(state >> 16) % words.size()];
    text += (state >> 20) % 9 == 0 ? ".\n" : " ";
  }
  fs::create_directories(dir_ + "/data");
  const CtlResult packed =
      Ctl({"data", "pack", Write("data/text.txt", text), "-o", dir_ + "/data/text", "--val-fraction", "0.1"});
  EXPECT_EQ(packed.code, 0) << packed.err;
  return dir_ + "/data/text";
}

void Cluster::DumpLogs() {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  std::cerr << "\n==== the programs' logs of " << (test == nullptr ? "" : test->test_suite_name()) << "."
            << (test == nullptr ? "" : test->name()) << " (the last 80 lines of each)\n";
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(dir_ + "/log")) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  for (const fs::path& path : paths) {
    std::vector<std::string> lines = absl::StrSplit(ReadAll(path), '\n');
    if (lines.size() > 80) lines.erase(lines.begin(), lines.end() - 80);
    std::cerr << "---- " << path.filename().string() << "\n" << absl::StrJoin(lines, "\n") << "\n";
  }
  for (const std::string& job : jobs_) {
    Process describe = StartCtl("dump-" + job, {"describe", job, "--events", "0"});
    if (!describe.Wait(absl::Seconds(10)).has_value()) continue;
    std::cerr << "---- musterctl describe " << job << "\n" << Read("dump-" + job + ".out") << "\n";
    Process logs = StartCtl("logs-" + job, {"logs", job, "--tail", "60"});
    if (!logs.Wait(absl::Seconds(10)).has_value()) continue;
    std::cerr << "---- musterctl logs " << job << "\n" << Read("logs-" + job + ".out") << "\n";
  }
  const char* target = std::getenv("TEST_TARGET");
  std::cerr << "==== once more:  bazel test " << (target == nullptr ? "//tests/e2e/..." : target)
            << " --cache_test_results=no --test_output=all"
            << (test == nullptr ? "" : absl::StrCat(" --test_filter=", test->test_suite_name(), ".", test->name()))
            << "\n";
}

std::string TrainJob::Yaml() const {
  std::string yaml = absl::StrCat("name: ", name, "\nnodes: {min: ", min, ", max: ", max, "}\nslots_per_node: ", slots,
                                  "\ntrain:\n  model: {layers: 2, heads: 2, channels: 32, context: ", context,
                                  "}\n  data: {train: ", data, "-train.bin, val: ", data,
                                  "-val.bin}\n  batch: {global: 16, micro: 2}\n  steps: ", steps, "\n");
  if (!sample_log_dir.empty()) absl::StrAppend(&yaml, "  sample_log_dir: ", sample_log_dir, "\n");
  absl::StrAppend(&yaml, more_train, "checkpoint: {dir: ", checkpoints, ", every: ", every,
                  "}\nelastic: {cooldown: ", cooldown, "}\n", more);
  return yaml;
}

bool Finished(v1::JobState state) { return state == v1::SUCCEEDED || state == v1::FAILED || state == v1::CANCELLED; }

std::map<int, int> Pids(const v1::JobDetail& job) {
  std::map<int, int> pids;
  for (const v1::RankView& rank : job.ranks()) pids[rank.rank()] = rank.pid();
  return pids;
}

}  // namespace muster::e2e
