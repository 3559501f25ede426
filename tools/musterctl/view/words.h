#ifndef MUSTER_TOOLS_MUSTERCTL_VIEW_WORDS_H_
#define MUSTER_TOOLS_MUSTERCTL_VIEW_WORDS_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "google/protobuf/timestamp.pb.h"
#include "proto/ctl.pb.h"
#include "tools/musterctl/view/style.h"

namespace muster::ctl {

// Enum values as people read them: "running", "node lost".
std::string WordOf(v1::JobState state);
std::string WordOf(v1::WorkerState state);
std::string WordOf(v1::NodeState state);
std::string WordOf(v1::GenerationCause cause);
std::string WordOf(v1::Device device);
Color ColorOf(v1::JobState state);
Color ColorOf(v1::WorkerState state);
Color ColorOf(v1::NodeState state);
bool IsFinished(v1::JobState state);
// "failed: <reason>"; or the reason alone, where it begins with the state's word: "cancelled while it was pending".
std::string StateAndReason(const Style& style, const v1::JobView& job);

// "exit code 3", "signal 9 (SIGKILL)", "out of memory, signal 9 (SIGKILL)", "could not be started: ...".
std::string WordsOfExit(const v1::ExitInfo& exit);

// "12,345".
std::string WithCommas(int64_t number);
// "1 node", "3 nodes".
std::string Count(int64_t number, absl::string_view noun);
// "850 B", "1.2 MiB".
std::string WordsOfBytes(int64_t bytes);
// The two largest units: "850ms", "3.2s", "42s", "3m12s", "2h05m", "3d04h".
std::string WordsOfDuration(absl::Duration d);
// "12:03:41" and "2026-12-01 12:03:41 UTC"; "-" for a time that is not set.
std::string TimeOfDay(const google::protobuf::Timestamp& t);
std::string DateAndTime(const google::protobuf::Timestamp& t);
// Milliseconds from one to the other: "+210", "-" where one is not set.
std::string MillisecondsAfter(const google::protobuf::Timestamp& from, bool has_from,
                              const google::protobuf::Timestamp& to, bool has_to);

}  // namespace muster::ctl

#endif  // MUSTER_TOOLS_MUSTERCTL_VIEW_WORDS_H_
