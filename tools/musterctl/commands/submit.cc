#include "tools/musterctl/commands/submit.h"

#include <string>

#include "common/random_id.h"
#include "common/spec/yaml_print.h"
#include "common/status_macros.h"
#include "tools/musterctl/commands/preflight.h"
#include "tools/musterctl/json.h"

namespace muster::ctl {

absl::StatusOr<ExitCode> RunSubmit(Session& session, const SubmitOptions& options) {
  MUSTER_ASSIGN_OR_RETURN(v1::JobSpec spec, BuildSpec(session.files, options.spec));
  if (!options.skip_preflight) {
    MUSTER_ASSIGN_OR_RETURN(std::vector<std::string> warnings, Preflight(spec));
    for (const std::string& warning : warnings) *session.err << "warning: " << warning << "\n";
  }
  if (options.dry_run) {
    *session.out << (session.json ? ToJson(spec) : JobSpecToYaml(spec));
    return ExitCode::kOk;
  }
  MUSTER_ASSIGN_OR_RETURN(CtlClient * client, session.connect());
  MUSTER_ASSIGN_OR_RETURN(v1::JobView job, client->SubmitJob(spec, RandomId()));
  if (session.json) {
    *session.out << ToJson(job);
  } else {
    *session.out << "submitted " << job.job_id() << "\n";
    if (session.terminal_size().first > 0) {
      *session.out << "follow it:  musterctl watch " << job.job_id() << "\n"
                   << "its output: musterctl logs -f " << job.job_id() << "\n";
    }
  }
  return ExitCode::kOk;
}

}  // namespace muster::ctl
