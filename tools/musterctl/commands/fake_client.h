#ifndef MUSTER_TOOLS_MUSTERCTL_COMMANDS_FAKE_CLIENT_H_
#define MUSTER_TOOLS_MUSTERCTL_COMMANDS_FAKE_CLIENT_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tools/musterctl/ctl_client.h"

namespace muster::ctl {

// A coordinator of canned answers, and a record of what was asked.
class FakeClient : public CtlClient {
 public:
  absl::StatusOr<v1::ClusterView> GetCluster() override { return cluster; }
  absl::StatusOr<v1::JobView> SubmitJob(const v1::JobSpec& spec, const std::string& token) override {
    submitted.emplace_back(spec, token);
    v1::JobView view;
    view.set_job_id(spec.name() + "-1");
    return view;
  }
  absl::StatusOr<v1::JobDetail> GetJob(const std::string&) override { return detail; }
  absl::StatusOr<v1::ListJobsReply> ListJobs(bool) override { return v1::ListJobsReply(); }
  absl::StatusOr<v1::JobView> CancelJob(const std::string& job) override {
    cancelled.push_back(job);
    return detail.job();
  }
  absl::StatusOr<v1::ListNodesReply> ListNodes() override { return v1::ListNodesReply(); }
  absl::StatusOr<v1::ListCheckpointsReply> ListCheckpoints(const std::string&) override { return checkpoints; }
  absl::StatusOr<std::vector<v1::StoredStep>> GetMetrics(const std::string&) override { return steps; }

  // Gives the snapshots; then a time-out if there was a deadline.
  absl::Status WatchJob(const std::string&, absl::Time deadline,
                        const std::function<bool(const v1::JobSnapshot&)>& on_snapshot) override {
    for (const v1::JobSnapshot& snapshot : snapshots) {
      if (!on_snapshot(snapshot)) return absl::OkStatus();
    }
    if (deadline != absl::InfiniteFuture()) return absl::DeadlineExceededError("over");
    return absl::OkStatus();
  }
  // Gives the lines, breaks once, and gives them all again.
  absl::Status StreamLogs(const v1::StreamLogsRequest& request,
                          const std::function<bool(const v1::LogLines&)>& on_lines) override {
    logs_asked.push_back(request);
    if (!on_lines(lines)) return absl::OkStatus();
    if (on_trouble_) on_trouble_("connection refused");
    on_lines(lines);
    return absl::OkStatus();
  }
  void OnTrouble(std::function<void(const std::string&)> on_trouble) override { on_trouble_ = std::move(on_trouble); }

  v1::ClusterView cluster;
  v1::JobDetail detail;
  v1::ListCheckpointsReply checkpoints;
  std::vector<v1::StoredStep> steps;
  std::vector<v1::JobSnapshot> snapshots;
  v1::LogLines lines;

  std::vector<std::pair<v1::JobSpec, std::string>> submitted;
  std::vector<std::string> cancelled;
  std::vector<v1::StreamLogsRequest> logs_asked;

 private:
  std::function<void(const std::string&)> on_trouble_;
};

}  // namespace muster::ctl

#endif  // MUSTER_TOOLS_MUSTERCTL_COMMANDS_FAKE_CLIENT_H_
