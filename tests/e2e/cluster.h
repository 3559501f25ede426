#ifndef MUSTER_TESTS_E2E_CLUSTER_H_
#define MUSTER_TESTS_E2E_CLUSTER_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "proto/ctl.grpc.pb.h"
#include "tests/e2e/network.h"
#include "tests/e2e/process.h"

namespace muster::e2e {

// What musterctl did.
struct CtlResult {
  int code = -1;
  std::string out;
  std::string err;
};

// A cluster of the real programs in a folder of its own, gone with the object. What does not work out is a failure of
// the running test; when it has failed, the programs' logs are printed at the end. Not thread-safe.
class Cluster {
 public:
  struct Options {
    absl::Duration lease = absl::Seconds(3);
    absl::Duration gather_window = absl::Milliseconds(300);
    // A host of its own for every node, in a network namespace. The coordinator stays in the test's.
    Network* network = nullptr;
  };

  Cluster() : Cluster(Options()) {}
  explicit Cluster(const Options& options);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  const std::string& dir() const { return dir_; }
  // "host:port" of the coordinator.
  std::string address() const;

  // Starts it, or starts it again on its old port, and waits until it answers.
  void StartCoordinator();
  void KillCoordinator();

  // Starts agents and waits until they are ready. A node killed before comes back with its state.
  void StartAgents(const std::vector<std::string>& nodes, int slots = 1);
  // An agent that is not a node of this cluster and is to fail. Its output goes to dir()/<name>.out and .err.
  Process StartStrayAgent(const std::string& name, const std::string& node, const std::string& coordinator);
  void KillAgentOnly(const std::string& node);
  // The agent, its shims and all workers, with SIGKILL and at once, as when a machine loses its power.
  void KillNode(const std::string& node);
  void KillWorker(const std::string& job, int rank);

  CtlResult Ctl(const std::vector<std::string>& args, absl::Duration timeout = absl::Seconds(60));
  // In the background; its output goes to dir()/<name>.out and .err.
  Process StartCtl(const std::string& name, const std::vector<std::string>& args);

  // Writes the spec into a file and submits it. The job's id; empty after a failure.
  std::string Submit(const std::string& yaml);
  // Any text into a file of the cluster's folder; its path.
  std::string Write(const std::string& name, const std::string& content);
  std::string Read(const std::string& name) const;

  // The job as it is now; waits for a coordinator that is just coming up.
  v1::JobDetail Get(const std::string& job);
  // The job once `wanted` is true of it. A failure of the test, which names `what`, when it is not within `timeout` or
  // the job has ended otherwise.
  v1::JobDetail WaitFor(const std::string& job, const std::string& what,
                        const std::function<bool(const v1::JobDetail&)>& wanted,
                        absl::Duration timeout = absl::Seconds(90));
  v1::JobDetail WaitForState(const std::string& job, v1::JobState state, absl::Duration timeout = absl::Seconds(120));
  // Rank 0 has reported this step (of whatever generation).
  v1::JobDetail WaitForStep(const std::string& job, int64_t step);
  void WaitForNode(const std::string& node, v1::NodeState state);
  std::map<std::string, v1::NodeView> Nodes();
  std::vector<v1::JobView> Jobs();

  // A connection of the test's own.
  v1::CtlService::Stub& stub() { return *stub_; }

  // Packed tokens of generated text: <prefix>-train.bin and <prefix>-val.bin. The prefix.
  std::string PackData();

 private:
  std::map<std::string, std::string> Environment(const std::string& node) const;
  std::string LogPath(const std::string& program) const;
  std::vector<std::string> AgentArgv(const std::string& node, const std::string& coordinator,
                                     const std::string& state_dir, int slots);
  void StartAgent(const std::string& node, int slots);
  void KillAll(const std::map<std::string, std::string>& wanted);
  void DumpLogs();

  const Options options_;
  const std::string id_;
  std::string dir_;
  std::string host_ = "127.0.0.1";
  std::string port_;
  Process coordinator_{Process::Options{}};
  std::map<std::string, Process> agents_;
  std::unique_ptr<v1::CtlService::Stub> stub_;
  std::vector<std::string> jobs_;
  int files_ = 0;
};

// A small training job as YAML. The rest of the fields have their defaults.
struct TrainJob {
  std::string name = "gpt";
  int min = 1;
  int max = 1;
  int slots = 1;
  // Prefix of the data, from PackData, and the checkpoints' folder.
  std::string data;
  std::string checkpoints;
  int steps = 100;
  int every = 20;
  // Decides how long a step takes.
  int context = 64;
  std::string sample_log_dir;
  std::string cooldown = "0s";
  // More lines at the top level, and in `train`.
  std::string more;
  std::string more_train;

  std::string Yaml() const;
};

bool Finished(v1::JobState state);
// pids by rank.
std::map<int, int> Pids(const v1::JobDetail& job);

}  // namespace muster::e2e

#endif  // MUSTER_TESTS_E2E_CLUSTER_H_
