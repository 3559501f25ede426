#include "tools/musterctl/commands/query.h"
#include "tools/musterctl/flags/builder.h"

namespace muster::ctl {
namespace {

// For commands without options of their own.
struct NoOptions {};

}  // namespace

void AddQueryCommands(FlagsBuilder& b) {
  auto list = std::make_shared<ListOptions>();
  CLI::App* sub = b.Add(&b.app, "list", "List jobs", "  musterctl list --unfinished");
  sub->add_flag("--unfinished", list->unfinished_only, "Leave out jobs that have ended");
  b.Run(sub, list, &RunList);

  auto describe = std::make_shared<DescribeOptions>();
  sub =
      b.Add(&b.app, "describe", "Tell all about a job: state and reason, ranks, generations and their causes, failure",
            "  musterctl describe gpt-small\n"
            "  musterctl describe gpt-small --json | jq .generations");
  sub->add_option("job", describe->job, "Job id or name")->required()->type_name("JOB");
  sub->add_option("--events", describe->events, "Show so many of the newest events; 0: all")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  b.Run(sub, describe, &RunDescribe);

  auto cancel = std::make_shared<CancelOptions>();
  sub = b.Add(&b.app, "cancel", "End a job: SIGTERM, its grace period, SIGKILL", "  musterctl cancel gpt-small");
  sub->add_option("job", cancel->job, "Job id or name")->required()->type_name("JOB");
  b.Run(sub, cancel, &RunCancel);

  auto none = std::make_shared<NoOptions>();
  b.Run<NoOptions>(b.Add(&b.app, "nodes", "List the nodes, their slots and who uses them", ""), none,
                   [](Session& session, const NoOptions&) { return RunNodes(session); });
  b.Run<NoOptions>(b.Add(&b.app, "cluster", "Tell about the coordinator: version, age, counts", ""), none,
                   [](Session& session, const NoOptions&) { return RunCluster(session); });
}

}  // namespace muster::ctl
