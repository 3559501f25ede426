#include "tools/musterctl/flags/flags.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/spec/near_name.h"
#include "common/version.h"
#include "tools/musterctl/flags/builder.h"

namespace muster::ctl {
namespace {

constexpr char kDefaultCoordinator[] = "127.0.0.1:7070";

constexpr char kAbout[] = "musterctl: submit, watch and steer training jobs on a Muster cluster.";

constexpr char kExamples[] =
    "Examples:\n"
    "  musterctl data pack corpus/ -o /shared/corpus --val-fraction 0.05\n"
    "  musterctl submit job.yaml\n"
    "  musterctl watch gpt-small\n"
    "  musterctl submit --name resnet --nodes 2:8 --slots 8 --device gpu -- python3 train.py\n"
    "  musterctl logs -f resnet --rank 0\n"
    "  musterctl describe resnet\n"
    "A JOB is a job id, or a name: its newest job.\n"
    "Exit codes: 0 done or succeeded, 1 failed, 2 bad command line or input, 3 cancelled, 4 time over,\n"
    "            5 coordinator unreachable, 6 version mismatch.\n"
    "musterctl COMMAND --help tells more; docs/cli.md tells all.";

bool IsHostAndPort(const std::string& text) {
  size_t colon = text.rfind(':');
  int port;
  if (colon == std::string::npos || colon == 0) return false;
  // An IPv6 address has its colons in brackets.
  std::string host = text.substr(0, colon);
  if (absl::StrContains(host, ':') && (host.front() != '[' || host.back() != ']')) return false;
  return absl::SimpleAtoi(text.substr(colon + 1), &port) && port > 0 && port < 65536;
}

// The deepest command that the arguments got to.
CLI::App* Reached(CLI::App* app) {
  for (std::vector<CLI::App*> subs = app->get_subcommands(); !subs.empty(); subs = app->get_subcommands()) {
    app = subs.front();
  }
  return app;
}

std::string NameOf(const CLI::App* app) {
  std::string name = app->get_name();
  for (const CLI::App* parent = app->get_parent(); parent != nullptr; parent = parent->get_parent()) {
    name = absl::StrCat(parent->get_name(), " ", name);
  }
  return name;
}

// "submti" -> "submit"; also for --flags. Empty if nothing is near.
std::string Meant(const CLI::App* app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* at = app; at != nullptr; at = at->get_parent()) {
    for (const CLI::App* sub : at->get_subcommands([](const CLI::App*) { return true; })) {
      names.push_back(sub->get_name());
    }
    for (const CLI::Option* option : at->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  return NearName(word, names);
}

absl::Status WrongUse(CLI::App* app, const CLI::ParseError& error) {
  CLI::App* at = Reached(app);
  std::string what = absl::StrReplaceAll(error.what(), {{"\n", " "}});
  std::vector<std::string> extra = at->remaining();
  if (extra.empty()) extra = app->remaining(true);
  // An unknown command is, to CLI11, a missing one and a word too many.
  bool no_command = at == app && !extra.empty() && !absl::StartsWith(extra.front(), "-");
  if ((error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError) && !extra.empty()) || no_command) {
    std::string word = extra.front();
    std::string near = Meant(at, word);
    what = absl::StrCat("unknown ",
                        absl::StartsWith(word, "-") ? "flag "
                        : at == app                 ? "command "
                                                    : "argument ",
                        word, near.empty() ? "" : absl::StrCat("; did you mean ", near, "?"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(what, absl::EndsWith(what, "?") ? " See " : "; see ", NameOf(at), " --help"));
}

}  // namespace

bool ParseDurationFlag(const std::string& text, absl::Duration* duration) {
  double seconds;
  if (absl::SimpleAtod(text, &seconds)) {
    *duration = absl::Seconds(seconds);
  } else if (!absl::ParseDuration(text, duration)) {
    return false;
  }
  return *duration >= absl::ZeroDuration();
}

CLI::Option* AddDuration(CLI::App* app, const std::string& name, absl::Duration* duration, const std::string& about) {
  return app
      ->add_option_function<std::string>(
          name,
          [=](const std::string& text) {
            if (ParseDurationFlag(text, duration)) return;
            throw CLI::ValidationError(name, text + " is not a duration; give one such as 30s or 5m");
          },
          about)
      ->type_name("DURATION");
}

absl::StatusOr<Invocation> ParseFlags(std::vector<std::string> arguments, const std::string& environment) {
  // What follows "--" is the user's command and not for us to read.
  std::vector<std::string> command;
  auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  if (dashes != arguments.end()) {
    command.assign(dashes + 1, arguments.end());
    arguments.erase(dashes, arguments.end());
    if (command.empty()) return absl::InvalidArgumentError("--: no command after it; give a program and its arguments");
  }

  Invocation invocation;
  invocation.coordinator = environment.empty() ? kDefaultCoordinator : environment;
  CLI::App app(kAbout, "musterctl");
  app.footer(kExamples);
  app.get_formatter()->column_width(34);
  app.require_subcommand(1);
  app.add_option("--coordinator", invocation.coordinator,
                 "The coordinator's address (default: $MUSTER_COORDINATOR, or 127.0.0.1:7070)")
      ->type_name("HOST:PORT");
  AddDuration(&app, "--connect-timeout,--timeout", &invocation.connect_timeout,
              "How long to try to reach the coordinator (default 5s)");
  app.add_flag("--json", invocation.json, "Print JSON, for scripts");
  app.set_version_flag("--version", std::string("musterctl ") + kVersion, "Print the version");

  FlagsBuilder builder{app, invocation, command};
  AddJobCommands(builder);
  AddQueryCommands(builder);
  AddDiskCommands(builder);

  if (arguments.empty()) {
    return absl::InvalidArgumentError("no command given; try musterctl submit, list, watch or --help");
  }
  // CLI11 takes them last first.
  std::reverse(arguments.begin(), arguments.end());
  try {
    app.parse(arguments);
  } catch (const CLI::CallForHelp&) {
    CLI::App* at = Reached(&app);
    invocation.help = at->help(at->get_parent() == nullptr ? "" : NameOf(at->get_parent()));
    return invocation;
  } catch (const CLI::CallForVersion& version) {
    invocation.help = absl::StrCat(version.what(), "\n");
    return invocation;
  } catch (const CLI::ParseError& error) {
    return WrongUse(&app, error);
  }
  if (!command.empty() && app.get_subcommands().front()->get_name() != "submit") {
    return absl::InvalidArgumentError(absl::StrCat("-- ", command[0], ": only submit takes a command; remove it"));
  }
  if (!IsHostAndPort(invocation.coordinator)) {
    return absl::InvalidArgumentError(absl::StrCat("--coordinator ", invocation.coordinator,
                                                   ": not an address; give HOST:PORT, such as 10.0.0.1:7070"));
  }
  return invocation;
}

}  // namespace muster::ctl
