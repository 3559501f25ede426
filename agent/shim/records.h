#ifndef MUSTER_AGENT_SHIM_RECORDS_H_
#define MUSTER_AGENT_SHIM_RECORDS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace muster::shim {

// What shim and agent tell each other, in a worker's folder and over its socket. Both come from one release, but a
// shim may be older than an agent that was upgraded under it: unknown keys are skipped, missing ones take the default.

// Names within a worker's folder.
inline constexpr char kSocketName[] = "shim.sock";
inline constexpr char kInfoName[] = "info";
inline constexpr char kExitName[] = "exit";
inline constexpr char kLogName[] = "log";
inline constexpr char kShimLogName[] = "shim.log";

// The file descriptor on which a shim finds its listening socket when it starts.
inline constexpr int kListenerFd = 3;

// The worker has been started.
struct StartRecord {
  int shim_pid = 0;
  int pid = 0;
  // Of the worker, from /proc/<pid>/stat: tells the process from a later one with the same pid.
  uint64_t start_ticks = 0;
  absl::Time started_at = absl::UnixEpoch();
};

enum class OomKilled { kUnknown, kNo, kYes };

// The worker has ended, or could not be started.
struct ExitRecord {
  int code = 0;
  // 0: it exited by itself.
  int signal = 0;
  absl::Time at = absl::UnixEpoch();
  // A command marked `wanted` had come before.
  bool by_agent = false;
  // Killed by the shim, since no agent was connected for too long.
  bool orphaned = false;
  OomKilled oom = OomKilled::kUnknown;
  // Not empty: the worker could not be started, and why; code and signal mean nothing.
  std::string start_error;
};

// "key=value" lines; values are C-escaped.
std::string Encode(const StartRecord& record);
std::string Encode(const ExitRecord& record);
// INVALID_ARGUMENT: a line without "=", or a number that is none.
absl::StatusOr<StartRecord> DecodeStart(absl::string_view text);
absl::StatusOr<ExitRecord> DecodeExit(absl::string_view text);

// Agent to shim, a packet each.
struct Command {
  enum class Target {
    kLead,   // the worker process alone
    kGroup,  // its process group
    kTree,   // everything below the shim, wherever it has moved
  };
  int signal = 0;
  Target target = Target::kLead;
  // The end that follows is the agent's wish (ExitRecord::by_agent).
  bool wanted = false;
};
std::string Encode(const Command& command);
absl::StatusOr<Command> DecodeCommand(absl::string_view text);

// Shim to agent, a packet each: this first line, then the record. On every connection, "start" once the worker runs,
// then "exit" when it ends. The shim closes the connection once nothing of the worker is left and its log is whole.
inline constexpr char kStartTag[] = "start\n";
inline constexpr char kExitTag[] = "exit\n";
inline constexpr size_t kMaxPacket = 8192;

}  // namespace muster::shim

#endif  // MUSTER_AGENT_SHIM_RECORDS_H_
