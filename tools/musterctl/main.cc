#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "common/status_macros.h"
#include "tools/musterctl/commands/session.h"
#include "tools/musterctl/exit_code.h"
#include "tools/musterctl/flags/flags.h"
#include "tools/musterctl/rpc/grpc_client.h"

namespace muster::ctl {
namespace {

std::string Env(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::pair<int, int> TerminalSize() {
  winsize size{};
  if (!isatty(STDOUT_FILENO)) return {0, 0};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {80, 24};
  return {size.ws_col, size.ws_row};
}

bool LocaleIsUtf8() {
  // The first that is set decides, as in setlocale.
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string value = Env(name);
    if (!value.empty()) return absl::StrContains(value, "UTF-8") || absl::StrContains(value, "utf8");
  }
  return false;
}

int Fail(const absl::Status& status) {
  std::cerr << "musterctl: " << status.message() << "\n";
  return static_cast<int>(ExitCodeOf(status));
}

int Main(int argc, char** argv) {
  absl::StatusOr<Invocation> invocation =
      ParseFlags(std::vector<std::string>(argv + 1, argv + argc), Env("MUSTER_COORDINATOR"));
  if (!invocation.ok()) return Fail(invocation.status());
  if (!invocation->help.empty()) {
    std::cout << invocation->help;
    return 0;
  }

  std::unique_ptr<CtlClient> client;
  Session session;
  session.out = &std::cout;
  session.err = &std::cerr;
  session.json = invocation->json;
  session.terminal_size = &TerminalSize;
  session.style.width = TerminalSize().first;
  session.style.color = session.style.width > 0 && Env("NO_COLOR").empty() && Env("TERM") != "dumb";
  // A file is for whoever reads it later, and text is UTF-8 today.
  session.style.unicode = session.style.width == 0 || LocaleIsUtf8();
  session.address = invocation->coordinator;
  session.connect = [&]() -> absl::StatusOr<CtlClient*> {
    if (client == nullptr) {
      client = NewGrpcClient({.address = invocation->coordinator, .connect_timeout = invocation->connect_timeout});
      MUSTER_RETURN_IF_ERROR(client->GetCluster().status());
    }
    return client.get();
  };
  absl::StatusOr<ExitCode> code = invocation->run(session);
  std::cout.flush();
  if (!code.ok()) return Fail(code.status());
  return static_cast<int>(*code);
}

}  // namespace
}  // namespace muster::ctl

int main(int argc, char** argv) { return muster::ctl::Main(argc, argv); }
