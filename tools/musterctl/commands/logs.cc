#include "tools/musterctl/commands/logs.h"

#include "common/status_macros.h"
#include "tools/musterctl/json.h"
#include "tools/musterctl/view/log_printer.h"

namespace muster::ctl {

absl::StatusOr<ExitCode> RunLogs(Session& session, const LogsOptions& options) {
  MUSTER_ASSIGN_OR_RETURN(CtlClient * client, session.connect());
  v1::StreamLogsRequest request;
  request.set_job(options.job);
  request.set_follow(options.follow);
  request.mutable_ranks()->Add(options.ranks.begin(), options.ranks.end());
  request.set_generation(options.generation);
  request.set_tail(options.tail);
  LogResumer resumer;
  client->OnTrouble([&](const std::string& reason) {
    *session.err << "coordinator away (" << reason << "), trying again\n";
    resumer.Restart();
  });
  absl::Status status = client->StreamLogs(request, [&](const v1::LogLines& lines) {
    for (const v1::LogLine& line : lines.lines()) {
      if (!resumer.IsNew(line)) continue;
      *session.out << (session.json ? ToJsonLine(line) : RenderLogLine(session.style, line));
    }
    session.out->flush();
    return session.out->good();
  });
  client->OnTrouble(nullptr);
  MUSTER_RETURN_IF_ERROR(status);
  return ExitCode::kOk;
}

}  // namespace muster::ctl
