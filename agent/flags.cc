#include "agent/flags.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <climits>
#include <iostream>
#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"
#include "common/version.h"

namespace muster::agent {
namespace {

constexpr char kAbout[] =
    "Runs on every node of a Muster cluster: starts and stops the workers that the coordinator places here, says at\n"
    "once what becomes of them, and ships their logs.\n";

constexpr char kFooter[] =
    "Examples:\n"
    "  muster-agent --coordinator 10.0.0.1:7070 --state_dir /var/lib/muster/agent\n"
    "  muster-agent --coordinator localhost:7070 --state_dir /tmp/n1 --node_id n1 --cpu_slots 2\n"
    "\n"
    "Stopping it:\n"
    "  SIGTERM, SIGINT  the node leaves: workers get SIGTERM, their job's grace period, SIGKILL; then the agent says\n"
    "                   goodbye and exits 0. A second signal: workers are killed at once.\n"
    "  with --keep_workers_on_exit, or by SIGKILL\n"
    "                   workers run on, each held by its muster-shim; an agent started again on the same --state_dir\n"
    "                   within --orphan_after takes them over. This is how an agent is upgraded under running jobs.\n"
    "\n"
    "When the coordinator is away, workers run on until the lease it gave (3 s by default) is over, for the node is\n"
    "lost to the cluster then and its ranks may be given to others. If the coordinator's host is up and refuses the\n"
    "connection (its program is being restarted), they run on for up to 10 minutes.\n"
    "\n"
    "Exit codes: 0 the node has left; 1 the agent could not start, or the coordinator refuses it (the last line says\n"
    "why); 2 wrong flags.";

std::string HostName() {
  char name[HOST_NAME_MAX + 1] = {};
  return ::gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

std::string NextToThisProgram(const std::string& name) {
  char self[PATH_MAX] = {};
  if (::readlink("/proc/self/exe", self, sizeof(self) - 1) <= 0) return name;
  const std::string path = self;
  return path.substr(0, path.rfind('/') + 1) + name;
}

absl::Status ParsePorts(const std::string& text, Flags* flags) {
  const std::vector<std::string> ends = absl::StrSplit(text, '-');
  if (ends.size() != 2 || !absl::SimpleAtoi(ends[0], &flags->first_port) ||
      !absl::SimpleAtoi(ends[1], &flags->last_port) || flags->first_port < 1024 || flags->last_port > 65535 ||
      flags->first_port > flags->last_port) {
    return absl::InvalidArgumentError(
        absl::StrCat("--port_range: '", text, "' is not FIRST-LAST with 1024 <= FIRST <= LAST <= 65535"));
  }
  return absl::OkStatus();
}

absl::Status Check(const std::string& coordinator, const std::string& ports, const std::string& orphan_after,
                   Flags* flags) {
  const absl::StatusOr<HostPort> target = ParseHostPort(coordinator);
  if (!target.ok()) return absl::InvalidArgumentError(absl::StrCat("--coordinator: ", target.status().message()));
  flags->coordinator = *target;
  MUSTER_RETURN_IF_ERROR(ParsePorts(ports, flags));
  if (!absl::ParseDuration(orphan_after, &flags->orphan_after) || flags->orphan_after <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--orphan_after: '", orphan_after, "' is not a time above 0, such as 30s or 5m"));
  }
  if (!flags->address.empty() && !IsIpAddress(flags->address)) {
    return absl::InvalidArgumentError(absl::StrCat("--address: '", flags->address,
                                                   "' is not an IPv4 or IPv6 address; give the one other nodes reach"));
  }
  if (flags->node_id.empty()) return absl::InvalidArgumentError("--node_id: this host has no name; give one");
  return absl::OkStatus();
}

}  // namespace

std::optional<Flags> ParseFlags(int argc, char** argv, int* exit_code) {
  Flags flags;
  flags.node_id = HostName();
  flags.worker = NextToThisProgram("muster-worker");
  flags.shim = NextToThisProgram("muster-shim");
  std::string coordinator, ports = "20000-29999", orphan_after = "30s";

  CLI::App app(kAbout, "muster-agent");
  app.footer(kFooter);
  app.get_formatter()->column_width(36);
  app.set_version_flag("--version", absl::StrCat("muster-agent ", kVersion));
  app.add_option("--coordinator", coordinator, "Where the coordinator listens")->required()->type_name("HOST:PORT");
  app.add_option("--state_dir", flags.state_dir,
                 "This agent's own folder; kept over restarts. One agent a folder, at most 96 bytes long")
      ->required()
      ->type_name("DIR");
  app.add_option("--node_id", flags.node_id, "Names the node; unique in the cluster (default: the host's name)")
      ->type_name("NAME");
  app.add_option("--address", flags.address,
                 "Where other nodes reach this one's workers (default: this machine's address on the route to the "
                 "coordinator)")
      ->type_name("IP");
  app.add_option("--gpus", flags.gpus,
                 "auto: a slot for each GPU that NVML names, CPU slots if there is none; none: "
                 "CPU slots (default: auto)")
      ->check(CLI::IsMember({"auto", "none"}))
      ->type_name("auto|none");
  app.add_option("--cpu_slots", flags.cpu_slots,
                 "CPU workers that run here at a time, where no GPU is used (default: 1)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  app.add_option("--port_range", ports, "Ports for MASTER_PORT (default: 20000-29999)")->type_name("FIRST-LAST");
  app.add_option("--orphan_after", orphan_after,
                 "Workers are killed when no agent is there for this long (default: 30s)")
      ->type_name("TIME");
  app.add_flag("--keep_workers_on_exit", flags.keep_workers_on_exit,
               "On SIGTERM, exit at once and leave workers running");
  app.add_option("--worker", flags.worker, "The trainer's program (default: muster-worker next to this one)")
      ->type_name("FILE");
  app.add_option("--shim", flags.shim, "The shim's program (default: muster-shim next to this one)")->type_name("FILE");

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& done) {
    *exit_code = app.exit(done);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    std::cerr << "muster-agent: " << error.what() << "; see muster-agent --help\n";
    *exit_code = 2;
    return std::nullopt;
  }
  if (const absl::Status status = Check(coordinator, ports, orphan_after, &flags); !status.ok()) {
    std::cerr << "muster-agent: " << status.message() << "\n";
    *exit_code = 2;
    return std::nullopt;
  }
  return flags;
}

}  // namespace muster::agent
