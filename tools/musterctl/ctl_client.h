#ifndef MUSTER_TOOLS_MUSTERCTL_CTL_CLIENT_H_
#define MUSTER_TOOLS_MUSTERCTL_CTL_CLIENT_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/ctl.pb.h"

namespace muster::ctl {

// The coordinator, as commands see it. Calls block. What a call can end with stands at the RPC in proto/ctl.proto; in
// addition UNAVAILABLE: the coordinator did not answer in time, in one line that names its address and a remedy.
class CtlClient {
 public:
  virtual ~CtlClient() = default;

  // Also checks that both sides speak the same protocol; call it before the others.
  virtual absl::StatusOr<v1::ClusterView> GetCluster() = 0;

  // Tried again while the coordinator is away: the token makes it one job.
  virtual absl::StatusOr<v1::JobView> SubmitJob(const v1::JobSpec& spec, const std::string& token) = 0;
  virtual absl::StatusOr<v1::JobDetail> GetJob(const std::string& job) = 0;
  virtual absl::StatusOr<v1::ListJobsReply> ListJobs(bool unfinished_only) = 0;
  virtual absl::StatusOr<v1::JobView> CancelJob(const std::string& job) = 0;
  virtual absl::StatusOr<v1::ListNodesReply> ListNodes() = 0;
  virtual absl::StatusOr<v1::ListCheckpointsReply> ListCheckpoints(const std::string& job) = 0;
  // All steps stored, in order, each once.
  virtual absl::StatusOr<std::vector<v1::StoredStep>> GetMetrics(const std::string& job) = 0;

  // Streams survive a coordinator's restart: they begin anew, so what was seen may come again. `on_*` returns false to
  // end the stream early, which is OK. With a deadline: DEADLINE_EXCEEDED when it is over.
  virtual absl::Status WatchJob(const std::string& job, absl::Time deadline,
                                const std::function<bool(const v1::JobSnapshot&)>& on_snapshot) = 0;
  virtual absl::Status StreamLogs(const v1::StreamLogsRequest& request,
                                  const std::function<bool(const v1::LogLines&)>& on_lines) = 0;

  // Called, during a call, when the coordinator went away and is being tried again; says why. A stream begins anew
  // then.
  virtual void OnTrouble(std::function<void(const std::string& reason)> on_trouble) = 0;
};

}  // namespace muster::ctl

#endif  // MUSTER_TOOLS_MUSTERCTL_CTL_CLIENT_H_
