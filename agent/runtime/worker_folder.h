#ifndef MUSTER_AGENT_RUNTIME_WORKER_FOLDER_H_
#define MUSTER_AGENT_RUNTIME_WORKER_FOLDER_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/core/types.h"
#include "agent/shim/records.h"
#include "proto/agent.pb.h"

namespace muster::agent {

// <state_dir>/workers/<job>.<generation>.<rank>/: all that is known of a worker, for as long as anybody may ask.
// Besides the shim's files (agent/shim/records.h):
//   worker    v1::WorkerStatus, as last saved
//   failure   v1::WorkerFailure, if it reported one
//   scratch/  working folder of a command that names none
//   over      its gang is gone from this node
//   shipped   the coordinator has its whole log
class WorkerFolder {
 public:
  explicit WorkerFolder(std::string path) : path_(std::move(path)) {}
  static WorkerFolder Of(const std::string& workers_dir, const WorkerKey& worker);

  const std::string& path() const { return path_; }
  std::string log() const;
  std::string scratch() const;

  // Makes the folder, and saves who the worker is before it is started. ALREADY_EXISTS: it was started before.
  absl::Status Create(const v1::WorkerStatus& status);
  absl::Status Save(const v1::WorkerStatus& status, const std::optional<v1::WorkerFailure>& failure);
  // NOT_FOUND: the folder was being made when the agent ended; no worker was started.
  absl::StatusOr<v1::WorkerStatus> LoadStatus() const;
  std::optional<v1::WorkerFailure> LoadFailure() const;
  // Nothing: not written (yet), or not readable.
  std::optional<shim::StartRecord> LoadStart() const;
  std::optional<shim::ExitRecord> LoadExit() const;

  bool Marked(const char* mark) const;
  void Mark(const char* mark);
  void Remove();

  static constexpr char kOver[] = "over";
  static constexpr char kShipped[] = "shipped";

 private:
  std::string path_;
};

// The last `count` lines of text in a log file of the shim's, oldest first; parts of a line are put together. Looks at
// no more than its last 64 KiB.
std::vector<std::string> LastLines(const std::string& log_path, int count);

v1::ExitInfo ToExitInfo(const shim::ExitRecord& record, const std::string& log_path);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_RUNTIME_WORKER_FOLDER_H_
