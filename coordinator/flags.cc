#include "coordinator/flags.h"

#include <CLI/CLI.hpp>

#include "absl/strings/str_cat.h"
#include "common/version.h"

namespace muster::coordinator {
namespace {

constexpr char kAbout[] =
    "The coordinator of a Muster cluster: it queues jobs, places them on nodes, and decides what to do when\n"
    "nodes or workers fail. One a cluster; agents and musterctl connect to it.\n"
    "\n"
    "  muster-coordinator --data_dir /var/lib/muster\n"
    "\n"
    "Start it with the same --data_dir after any stop, SIGKILL too: it loses nothing it has acknowledged,\n"
    "and running jobs go on meanwhile.";

constexpr char kMore[] =
    "Durations are written as 3s, 500ms or 1m30s. SIGTERM and SIGINT stop it cleanly.\n"
    "Exit status: 0 stopped by a signal, 1 it cannot run (the reason is the last line), 2 wrong usage.\n"
    "Next: start muster-agent on each node, then see `musterctl nodes`.";

constexpr int64_t kMostLogMb = int64_t{1} << 20;

CLI::Option* AddDuration(CLI::App* app, const std::string& name, absl::Duration* value, const std::string& about) {
  const auto parse = [value](const CLI::results_t& results) {
    absl::Duration parsed;
    if (!absl::ParseDuration(results.back(), &parsed) || parsed < absl::ZeroDuration()) return false;
    *value = parsed;
    return true;
  };
  return app->add_option(name, parse, about)
      ->type_name("DURATION")
      ->default_str(absl::FormatDuration(*value))
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

absl::Status CheckFlags(const Flags& flags) {
  if (flags.data_dir.empty()) {
    return absl::InvalidArgumentError("--data_dir is missing: name the folder that keeps jobs and logs");
  }
  if (flags.heartbeat <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("--heartbeat must be above 0; 500ms is usual");
  }
  if (flags.log_limit_mb < 1 || flags.log_limit_mb > kMostLogMb) {
    return absl::InvalidArgumentError(
        absl::StrCat("--log_limit_mb ", flags.log_limit_mb, " must be from 1 to ", kMostLogMb));
  }
  if (flags.lease < 2 * flags.heartbeat) {
    return absl::InvalidArgumentError(
        absl::StrCat("--lease ", absl::FormatDuration(flags.lease), " must be at least twice --heartbeat (",
                     absl::FormatDuration(flags.heartbeat), "), or one lost message loses a node"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Flags> ParseFlags(int argc, const char* const* argv) {
  Flags flags;
  CLI::App app(kAbout, "muster-coordinator");
  app.footer(kMore);
  app.add_option("--data_dir", flags.data_dir, "Folder for state.db and logs/ (required); made if it is not there")
      ->type_name("DIR");
  app.add_option("--listen", flags.listen, "Address to serve on; port 0 takes a free one")
      ->type_name("ADDRESS:PORT")
      ->capture_default_str();
  app.add_option("--port_file", flags.port_file, "Written with the port once it serves; for scripts, with port 0")
      ->type_name("FILE");
  AddDuration(&app, "--lease", &flags.lease, "A node is lost after this long without a message from it");
  AddDuration(&app, "--heartbeat", &flags.heartbeat, "How often agents say that they are there");
  AddDuration(&app, "--gather_window", &flags.gather_window,
              "A job that could start on fewer nodes than its maximum waits this long for more");
  AddDuration(&app, "--diagnose_window", &flags.diagnose_window,
              "Workers lost a peer: how long to look for the cause before all of them are restarted");
  app.add_option("--log_limit_mb", flags.log_limit_mb, "Log kept of each worker; the rest is dropped")
      ->type_name("MIB")
      ->capture_default_str();
  app.set_version_flag("--version",
                       absl::StrCat("muster-coordinator ", kVersion, " (protocol ", kProtocolVersion, ")"));
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    flags.print = app.help();
    return flags;
  } catch (const CLI::CallForVersion& version) {
    flags.print = absl::StrCat(version.what(), "\n");
    return flags;
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(absl::StrCat(error.what(), "; see muster-coordinator --help"));
  }
  if (absl::Status status = CheckFlags(flags); !status.ok()) return status;
  return flags;
}

}  // namespace muster::coordinator
