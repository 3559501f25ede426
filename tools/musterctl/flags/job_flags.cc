#include <cstdint>

#include "tools/musterctl/commands/logs.h"
#include "tools/musterctl/commands/plot.h"
#include "tools/musterctl/commands/submit.h"
#include "tools/musterctl/commands/watch.h"
#include "tools/musterctl/flags/builder.h"

namespace muster::ctl {
namespace {

void AddSubmit(FlagsBuilder& b) {
  auto o = std::make_shared<SubmitOptions>();
  CLI::App* sub = b.Add(&b.app, "submit", "Start a job from a file, or from flags and a command after --",
                        "  musterctl submit job.yaml\n"
                        "  musterctl submit job.yaml --nodes 4 --set train.schedule.lr=3e-4\n"
                        "  musterctl submit job.yaml --dry-run          # the whole spec, with all defaults\n"
                        "  musterctl submit --name resnet --nodes 2:8 --slots 8 --device gpu -- python3 train.py\n"
                        "Flags change what the file says. docs/job_spec.md has every field.");
  SpecOptions& spec = o->spec;
  sub->add_option("file", spec.file, "A job spec (docs/job_spec.md)")->type_name("FILE.yaml");
  sub->add_option("--name", spec.name, "The job's name; only one unfinished job may have it");
  sub->add_option("--nodes", spec.nodes, "Nodes: a number, or the least and the most the job runs on")
      ->type_name("N|MIN:MAX");
  sub->add_option("--slots", spec.slots, "Workers on each node")->type_name("N");
  sub->add_option("--device", spec.device, "What a worker runs on")->check(CLI::IsMember({"cpu", "gpu"}));
  sub->add_option("--env", spec.env, "Set a variable in the workers' environment; may be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  sub->add_option("--working-dir", spec.working_dir, "The command's working folder, an absolute path");
  sub->add_option("--checkpoint-dir", spec.checkpoint_dir, "Where a train job keeps its checkpoints");
  sub->add_option("--set", spec.set, "Set any field of the spec; may be repeated")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  sub->add_flag("--dry-run", o->dry_run, "Check everything, print the whole spec, submit nothing");
  sub->add_flag("--no-preflight", o->skip_preflight, "Do not look at the data files before submitting");
  spec.command = b.command;
  b.Run(sub, o, &RunSubmit);
}

void AddWatch(FlagsBuilder& b) {
  auto o = std::make_shared<WatchOptions>();
  CLI::App* sub = b.Add(&b.app, "watch", "Show a job live, until it ends",
                        "  musterctl watch gpt-small\n"
                        "  musterctl watch gpt-small --until step:100    # for scripts\n"
                        "Ends with the job's exit code: 0 succeeded, 1 failed, 3 cancelled. Ctrl-C stops watching and\n"
                        "leaves the job alone.");
  sub->add_option("job", o->job, "Job id or name")->required()->type_name("JOB");
  sub->add_option_function<std::string>(
         "--until",
         [o](const std::string& text) {
           absl::StatusOr<WatchGoal> goal = WatchGoal::Parse(text);
           if (!goal.ok()) throw CLI::ValidationError(std::string(goal.status().message()));
           o->until = *goal;
         },
         "End earlier: running, step:N or generation:N")
      ->type_name("GOAL");
  AddDuration(sub, "--timeout", &o->timeout, "Give up after this long, with exit code 4");
  b.Run(sub, o, &RunWatch);
}

void AddWait(FlagsBuilder& b) {
  auto o = std::make_shared<WaitOptions>();
  CLI::App* sub = b.Add(&b.app, "wait", "Wait until a job ends, and end as it did",
                        "  musterctl wait gpt-small --timeout 2h && echo trained\n"
                        "Exit code: 0 succeeded, 1 failed, 3 cancelled, 4 not done in time.");
  sub->add_option("job", o->job, "Job id or name")->required()->type_name("JOB");
  AddDuration(sub, "--timeout", &o->timeout, "Give up after this long, with exit code 4");
  b.Run(sub, o, &RunWait);
}

void AddLogs(FlagsBuilder& b) {
  auto o = std::make_shared<LogsOptions>();
  CLI::App* sub = b.Add(&b.app, "logs", "Print what a job's workers wrote, of all nodes, lost ones too",
                        "  musterctl logs -f gpt-small\n"
                        "  musterctl logs gpt-small --rank 0 --rank 3 --generation 2 --tail 100\n"
                        "Each line begins with NODE/RANK gGENERATION.");
  sub->add_option("job", o->job, "Job id or name")->required()->type_name("JOB");
  sub->add_flag("-f,--follow", o->follow, "Go on until the job ends");
  sub->add_option("--rank", o->ranks, "Only this rank; may be repeated")
      ->type_name("N")
      ->allow_extra_args(false)
      ->check(CLI::NonNegativeNumber);
  sub->add_option("--generation", o->generation, "Only this generation")->type_name("N");
  sub->add_option("--tail", o->tail, "Only the newest N lines at the start")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
  b.Run(sub, o, &RunLogs);
}

void AddPlot(FlagsBuilder& b) {
  auto o = std::make_shared<PlotOptions>();
  CLI::App* sub = b.Add(&b.app, "plot", "Draw a job's loss, or the timeline of a recovery",
                        "  musterctl plot gpt-small                        # on the terminal\n"
                        "  musterctl plot gpt-small -o loss.svg\n"
                        "  musterctl plot gpt-small --timeline 2 -o recovery.svg");
  sub->add_option("job", o->job, "Job id or name")->required()->type_name("JOB");
  sub->add_option("-o,--output", o->output, "Write an SVG file, and not to the terminal")->type_name("FILE.svg");
  sub->add_option("--timeline", o->timeline, "How this generation came to be, step by step")->type_name("GENERATION");
  b.Run(sub, o, &RunPlot);
}

}  // namespace

void AddJobCommands(FlagsBuilder& builder) {
  AddSubmit(builder);
  AddWatch(builder);
  AddWait(builder);
  AddLogs(builder);
  AddPlot(builder);
}

}  // namespace muster::ctl
