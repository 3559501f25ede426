#include "tools/musterctl/view/words.h"

#include <cmath>
#include <csignal>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/proto_time.h"

namespace muster::ctl {
namespace {

// "CAUSE_NODE_LOST" -> "node lost".
std::string Words(std::string name, absl::string_view prefix) {
  return absl::AsciiStrToLower(absl::StrReplaceAll(absl::StripPrefix(name, prefix), {{"_", " "}}));
}

const char* NameOfSignal(int number) {
  switch (number) {
    case SIGHUP:
      return "SIGHUP";
    case SIGINT:
      return "SIGINT";
    case SIGQUIT:
      return "SIGQUIT";
    case SIGILL:
      return "SIGILL";
    case SIGTRAP:
      return "SIGTRAP";
    case SIGABRT:
      return "SIGABRT";
    case SIGBUS:
      return "SIGBUS";
    case SIGFPE:
      return "SIGFPE";
    case SIGKILL:
      return "SIGKILL";
    case SIGUSR1:
      return "SIGUSR1";
    case SIGSEGV:
      return "SIGSEGV";
    case SIGUSR2:
      return "SIGUSR2";
    case SIGPIPE:
      return "SIGPIPE";
    case SIGALRM:
      return "SIGALRM";
    case SIGTERM:
      return "SIGTERM";
    case SIGXCPU:
      return "SIGXCPU";
    case SIGSYS:
      return "SIGSYS";
    default:
      return nullptr;
  }
}

}  // namespace

std::string WordOf(v1::JobState state) { return Words(v1::JobState_Name(state), "JOB_"); }
std::string WordOf(v1::WorkerState state) {
  // Decided and not yet started.
  return state == v1::WORKER_STATE_UNSPECIFIED ? "preparing" : Words(v1::WorkerState_Name(state), "");
}
std::string WordOf(v1::NodeState state) { return Words(v1::NodeState_Name(state), "NODE_"); }
std::string WordOf(v1::GenerationCause cause) { return Words(v1::GenerationCause_Name(cause), "CAUSE_"); }
std::string WordOf(v1::Device device) { return Words(v1::Device_Name(device), ""); }

Color ColorOf(v1::JobState state) {
  switch (state) {
    case v1::JOB_RUNNING:
    case v1::SUCCEEDED:
      return Color::kGreen;
    case v1::FAILED:
      return Color::kRed;
    case v1::PENDING:
    case v1::JOB_STARTING:
    case v1::CANCELLING:
      return Color::kYellow;
    default:
      return Color::kNone;
  }
}

Color ColorOf(v1::WorkerState state) {
  if (state == v1::RUNNING) return Color::kGreen;
  return state == v1::EXITED ? Color::kDim : Color::kYellow;
}

Color ColorOf(v1::NodeState state) {
  if (state == v1::NODE_READY) return Color::kGreen;
  return state == v1::NODE_LOST ? Color::kRed : Color::kYellow;
}

bool IsFinished(v1::JobState state) { return state == v1::SUCCEEDED || state == v1::FAILED || state == v1::CANCELLED; }

std::string StateAndReason(const Style& style, const v1::JobView& job) {
  std::string word = WordOf(job.state());
  std::string reason = OneLine(job.reason());
  absl::string_view rest = reason;
  std::string state = Paint(style, ColorOf(job.state()), word);
  if (absl::ConsumePrefix(&rest, word)) return absl::StrCat(state, rest);
  return reason.empty() ? state : absl::StrCat(state, ": ", reason);
}

std::string WordsOfExit(const v1::ExitInfo& exit) {
  if (!exit.start_error().empty()) return absl::StrCat("could not be started: ", exit.start_error());
  std::string words;
  if (exit.signal() != 0) {
    const char* name = NameOfSignal(exit.signal());
    words = absl::StrCat("signal ", exit.signal(), name == nullptr ? "" : absl::StrCat(" (", name, ")"));
  } else {
    words = absl::StrCat("exit code ", exit.code());
  }
  if (exit.oom_killed()) words = absl::StrCat("out of memory, ", words);
  if (exit.port_conflict()) absl::StrAppend(&words, ", its port was taken");
  if (exit.by_agent()) absl::StrAppend(&words, ", sent by the agent");
  return words;
}

std::string WithCommas(int64_t number) {
  std::string digits = absl::StrCat(number);
  size_t first = number < 0 ? 1 : 0;
  for (size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string Count(int64_t number, absl::string_view noun) {
  return absl::StrCat(WithCommas(number), " ", noun, number == 1 ? "" : "s");
}

std::string WordsOfBytes(int64_t bytes) {
  if (bytes < 1024) return absl::StrCat(bytes, " B");
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes) / 1024;
  int unit = 0;
  while (value >= 1024 && unit < 3) {
    value /= 1024;
    ++unit;
  }
  return absl::StrFormat("%.1f %s", value, kUnits[unit]);
}

std::string WordsOfDuration(absl::Duration d) {
  if (d < absl::ZeroDuration()) d = absl::ZeroDuration();
  if (d < absl::Seconds(1)) return absl::StrFormat("%dms", absl::ToInt64Milliseconds(d));
  if (d < absl::Seconds(10)) return absl::StrFormat("%.1fs", absl::ToDoubleSeconds(d));
  int64_t s = absl::ToInt64Seconds(d);
  if (s < 60) return absl::StrFormat("%ds", s);
  if (s < 3600) return absl::StrFormat("%dm%02ds", s / 60, s % 60);
  if (s < 86400) return absl::StrFormat("%dh%02dm", s / 3600, s % 3600 / 60);
  return absl::StrFormat("%dd%02dh", s / 86400, s % 86400 / 3600);
}

std::string TimeOfDay(const google::protobuf::Timestamp& t) {
  if (t.seconds() == 0 && t.nanos() == 0) return "-";
  return absl::FormatTime("%H:%M:%S", FromProto(t), absl::UTCTimeZone());
}

std::string DateAndTime(const google::protobuf::Timestamp& t) {
  if (t.seconds() == 0 && t.nanos() == 0) return "-";
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", FromProto(t), absl::UTCTimeZone());
}

std::string MillisecondsAfter(const google::protobuf::Timestamp& from, bool has_from,
                              const google::protobuf::Timestamp& to, bool has_to) {
  if (!has_from || !has_to) return "-";
  return absl::StrFormat("%+d", std::llround(absl::ToDoubleMilliseconds(FromProto(to) - FromProto(from))));
}

}  // namespace muster::ctl
