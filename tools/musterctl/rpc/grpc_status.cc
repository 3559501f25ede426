#include "tools/musterctl/rpc/grpc_status.h"

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"

namespace muster::ctl {

absl::Status ToAbslStatus(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      absl::StrReplaceAll(status.error_message(), {{"\n", " "}}));
}

std::string ReasonOfFailedConnection(const grpc::Status& status) {
  const std::string& message = status.error_message();
  static constexpr struct {
    const char* theirs;
    const char* ours;
  } kWords[] = {
      {"Connection refused", "connection refused"},
      {"DNS resolution failed", "the host name is not known"},
      {"Domain name not found", "the host name is not known"},
      {"No route to host", "no route to the host"},
      {"Network is unreachable", "the network is unreachable"},
      {"Connection timed out", "no answer"},
      {"Connection reset", "the connection was reset"},
      {"Socket closed", "the connection was closed"},
  };
  for (const auto& word : kWords) {
    if (absl::StrContains(message, word.theirs)) return word.ours;
  }
  if (message.empty()) return "no answer";
  return absl::StrReplaceAll(message, {{"\n", " "}});
}

}  // namespace muster::ctl
