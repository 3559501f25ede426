#include "tools/musterctl/commands/query.h"

#include <vector>

#include "common/status_macros.h"
#include "tools/musterctl/json.h"
#include "tools/musterctl/view/job_detail.h"
#include "tools/musterctl/view/lists.h"
#include "tools/musterctl/view/words.h"

namespace muster::ctl {

absl::StatusOr<ExitCode> RunList(Session& session, const ListOptions& options) {
  MUSTER_ASSIGN_OR_RETURN(CtlClient * client, session.connect());
  MUSTER_ASSIGN_OR_RETURN(v1::ListJobsReply reply, client->ListJobs(options.unfinished_only));
  std::vector<v1::JobView> jobs(reply.jobs().begin(), reply.jobs().end());
  if (session.json) {
    *session.out << ToJson(reply);
  } else if (jobs.empty() && options.unfinished_only) {
    *session.out << "No unfinished jobs. `musterctl list` shows those that have ended, too.\n";
  } else {
    *session.out << RenderJobs(session.style, jobs, session.clock->Now());
  }
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> RunDescribe(Session& session, const DescribeOptions& options) {
  MUSTER_ASSIGN_OR_RETURN(CtlClient * client, session.connect());
  MUSTER_ASSIGN_OR_RETURN(v1::JobDetail detail, client->GetJob(options.job));
  if (session.json) {
    *session.out << ToJson(detail);
    return ExitCode::kOk;
  }
  MUSTER_ASSIGN_OR_RETURN(v1::ListCheckpointsReply reply, client->ListCheckpoints(detail.job().job_id()));
  std::vector<v1::StoredCheckpoint> checkpoints(reply.checkpoints().begin(), reply.checkpoints().end());
  *session.out << RenderJobDetail(session.style, detail, checkpoints, {session.clock->Now(), options.events});
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> RunCancel(Session& session, const CancelOptions& options) {
  MUSTER_ASSIGN_OR_RETURN(CtlClient * client, session.connect());
  MUSTER_ASSIGN_OR_RETURN(v1::JobView job, client->CancelJob(options.job));
  if (session.json) {
    *session.out << ToJson(job);
  } else {
    *session.out << job.job_id() << " " << StateAndReason(session.style, job) << "\n";
  }
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> RunNodes(Session& session) {
  MUSTER_ASSIGN_OR_RETURN(CtlClient * client, session.connect());
  MUSTER_ASSIGN_OR_RETURN(v1::ListNodesReply reply, client->ListNodes());
  std::vector<v1::NodeView> nodes(reply.nodes().begin(), reply.nodes().end());
  *session.out << (session.json ? ToJson(reply) : RenderNodes(session.style, nodes, session.clock->Now()));
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> RunCluster(Session& session) {
  MUSTER_ASSIGN_OR_RETURN(CtlClient * client, session.connect());
  MUSTER_ASSIGN_OR_RETURN(v1::ClusterView cluster, client->GetCluster());
  *session.out << (session.json ? ToJson(cluster)
                                : RenderCluster(session.style, cluster, session.address, session.clock->Now()));
  return ExitCode::kOk;
}

}  // namespace muster::ctl
