#include "agent/shim/records.h"

#include <map>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status_macros.h"

namespace muster::shim {
namespace {

using Fields = std::map<std::string, std::string>;

absl::StatusOr<Fields> Parse(absl::string_view text) {
  Fields fields;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const size_t equals = line.find('=');
    std::string value;
    if (equals == absl::string_view::npos || !absl::CUnescape(line.substr(equals + 1), &value)) {
      return absl::InvalidArgumentError(absl::StrCat("not a key=value line: '", absl::CEscape(line), "'"));
    }
    fields[std::string(line.substr(0, equals))] = value;
  }
  return fields;
}

template <typename T>
absl::Status Number(const Fields& fields, const std::string& key, T* out) {
  const auto it = fields.find(key);
  if (it == fields.end()) return absl::OkStatus();
  if (!absl::SimpleAtoi(it->second, out)) {
    return absl::InvalidArgumentError(absl::StrCat(key, ": not a number: '", absl::CEscape(it->second), "'"));
  }
  return absl::OkStatus();
}

absl::Status Moment(const Fields& fields, const std::string& key, absl::Time* out) {
  int64_t nanos = 0;
  MUSTER_RETURN_IF_ERROR(Number(fields, key, &nanos));
  *out = absl::FromUnixNanos(nanos);
  return absl::OkStatus();
}

template <typename T>
std::string Line(absl::string_view key, const T& value) {
  return absl::StrCat(key, "=", value, "\n");
}

}  // namespace

std::string Encode(const StartRecord& record) {
  return absl::StrCat(Line("shim_pid", record.shim_pid), Line("pid", record.pid),
                      Line("start_ticks", record.start_ticks),
                      Line("started_at", absl::ToUnixNanos(record.started_at)));
}

absl::StatusOr<StartRecord> DecodeStart(absl::string_view text) {
  MUSTER_ASSIGN_OR_RETURN(const Fields fields, Parse(text));
  StartRecord record;
  MUSTER_RETURN_IF_ERROR(Number(fields, "shim_pid", &record.shim_pid));
  MUSTER_RETURN_IF_ERROR(Number(fields, "pid", &record.pid));
  MUSTER_RETURN_IF_ERROR(Number(fields, "start_ticks", &record.start_ticks));
  MUSTER_RETURN_IF_ERROR(Moment(fields, "started_at", &record.started_at));
  return record;
}

std::string Encode(const ExitRecord& record) {
  const char* oom = record.oom == OomKilled::kYes ? "yes" : record.oom == OomKilled::kNo ? "no" : "unknown";
  return absl::StrCat(Line("code", record.code), Line("signal", record.signal),
                      Line("at", absl::ToUnixNanos(record.at)), Line("by_agent", record.by_agent ? 1 : 0),
                      Line("orphaned", record.orphaned ? 1 : 0), Line("oom", oom),
                      Line("start_error", absl::CEscape(record.start_error)));
}

absl::StatusOr<ExitRecord> DecodeExit(absl::string_view text) {
  MUSTER_ASSIGN_OR_RETURN(const Fields fields, Parse(text));
  ExitRecord record;
  int by_agent = 0, orphaned = 0;
  MUSTER_RETURN_IF_ERROR(Number(fields, "code", &record.code));
  MUSTER_RETURN_IF_ERROR(Number(fields, "signal", &record.signal));
  MUSTER_RETURN_IF_ERROR(Number(fields, "by_agent", &by_agent));
  MUSTER_RETURN_IF_ERROR(Number(fields, "orphaned", &orphaned));
  MUSTER_RETURN_IF_ERROR(Moment(fields, "at", &record.at));
  record.by_agent = by_agent != 0;
  record.orphaned = orphaned != 0;
  if (const auto it = fields.find("oom"); it != fields.end()) {
    record.oom = it->second == "yes" ? OomKilled::kYes : it->second == "no" ? OomKilled::kNo : OomKilled::kUnknown;
  }
  if (const auto it = fields.find("start_error"); it != fields.end()) record.start_error = it->second;
  return record;
}

std::string Encode(const Command& command) {
  const char* target = command.target == Command::Target::kLead    ? "lead"
                       : command.target == Command::Target::kGroup ? "group"
                                                                   : "tree";
  return absl::StrCat(Line("signal", command.signal), Line("target", target), Line("wanted", command.wanted ? 1 : 0));
}

absl::StatusOr<Command> DecodeCommand(absl::string_view text) {
  MUSTER_ASSIGN_OR_RETURN(const Fields fields, Parse(text));
  Command command;
  int wanted = 0;
  MUSTER_RETURN_IF_ERROR(Number(fields, "signal", &command.signal));
  MUSTER_RETURN_IF_ERROR(Number(fields, "wanted", &wanted));
  command.wanted = wanted != 0;
  const auto it = fields.find("target");
  const std::string target = it == fields.end() ? "lead" : it->second;
  if (target == "lead") {
    command.target = Command::Target::kLead;
  } else if (target == "group") {
    command.target = Command::Target::kGroup;
  } else if (target == "tree") {
    command.target = Command::Target::kTree;
  } else {
    return absl::InvalidArgumentError(absl::StrCat("target: unknown: '", absl::CEscape(target), "'"));
  }
  return command;
}

}  // namespace muster::shim
