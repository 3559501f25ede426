#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/proto_time.h"
#include "common/spec/job_spec.h"
#include "common/spec/utf8.h"
#include "common/spec/validate_internal.h"
#include "common/status_macros.h"

namespace muster {
namespace spec_internal {

absl::Status CheckRange(absl::string_view path, int64_t value, int64_t low, int64_t high, absl::string_view remedy) {
  if (value >= low && value <= high) return absl::OkStatus();
  return Wrong(path, absl::StrCat(value), remedy);
}

absl::Status CheckPath(absl::string_view path, const std::string& value) {
  if (value.empty()) return absl::OkStatus();
  if (value.find('\0') != std::string::npos) return Wrong(path, "has a NUL byte in it", "remove it");
  if (value[0] != '/') {
    return Wrong(path, absl::StrFormat("\"%s\" is not an absolute path", value),
                 "workers start in folders of their own, so begin it with /");
  }
  return absl::OkStatus();
}

}  // namespace spec_internal

namespace {

using spec_internal::CheckPath;
using spec_internal::CheckRange;
using spec_internal::Wrong;

constexpr int kMaxNameLength = 40;
constexpr int kMaxNodes = 100'000;
constexpr int kMaxSlots = 1024;
constexpr absl::Duration kMaxDuration = absl::Hours(24);

bool IsNameChar(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

absl::Status ValidateName(const std::string& name) {
  if (name.empty()) return Wrong("name", "missing", "give the job a name, such as gpt-small");
  if (name.size() > kMaxNameLength) {
    return Wrong("name", absl::StrFormat("%d characters long", name.size()),
                 absl::StrFormat("use at most %d", kMaxNameLength));
  }
  bool ok = IsNameChar(name.front()) && IsNameChar(name.back());
  for (char c : name) ok = ok && (IsNameChar(c) || c == '-');
  if (ok) return absl::OkStatus();
  return Wrong("name", absl::StrFormat("\"%s\"", name),
               "use lower-case letters, digits and -, with a letter or digit at both ends");
}

absl::Status ValidateNodes(const v1::NodeRange& nodes) {
  MUSTER_RETURN_IF_ERROR(CheckRange("nodes.min", nodes.min(), 1, kMaxNodes,
                                    absl::StrFormat("a job needs at least 1 node, and at most %d", kMaxNodes)));
  if (nodes.max() < nodes.min()) {
    return Wrong("nodes.max", absl::StrFormat("%d is below nodes.min %d", nodes.max(), nodes.min()),
                 "raise max or lower min");
  }
  return CheckRange("nodes.max", nodes.max(), 1, kMaxNodes, absl::StrFormat("use at most %d nodes", kMaxNodes));
}

absl::Status ValidateKind(const v1::JobSpec& spec) {
  bool command = !spec.command().empty();
  if (!spec.has_train() && !command) return Wrong("train", "missing", "give either train or command");
  if (spec.has_train() && command) {
    return Wrong("train", "given together with command", "a job runs one of them, so remove the other");
  }
  return absl::OkStatus();
}

absl::Status ValidateCommand(const v1::JobSpec& spec) {
  if (spec.command().empty()) return absl::OkStatus();
  if (spec.command(0).empty()) {
    return Wrong("command[0]", "empty", "begin with a program, found in PATH or by an absolute path");
  }
  for (int i = 0; i < spec.command_size(); ++i) {
    if (spec.command(i).find('\0') != std::string::npos) {
      return Wrong(absl::StrFormat("command[%d]", i), "has a NUL byte in it", "remove it");
    }
  }
  return absl::OkStatus();
}

bool IsReservedEnv(const std::string& name, v1::Device device) {
  static constexpr const char* kReserved[] = {"RANK",       "LOCAL_RANK",  "WORLD_SIZE", "LOCAL_WORLD_SIZE",
                                              "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT"};
  for (const char* reserved : kReserved) {
    if (name == reserved) return true;
  }
  // Which GPUs a worker has is for the agent to say; on CPU slots the variable is the user's to empty.
  if (device == v1::GPU && name == "CUDA_VISIBLE_DEVICES") return true;
  return absl::StartsWith(name, "MUSTER_");
}

absl::Status ValidateEnv(const v1::JobSpec& spec) {
  // The map's order is random; the first error must not be.
  std::map<std::string, std::string> sorted(spec.env().begin(), spec.env().end());
  for (const auto& [name, value] : sorted) {
    std::string path = absl::StrCat("env.", name);
    if (IsReservedEnv(name, spec.device())) return Wrong(path, "set by Muster itself", "remove it");
    bool ok = !name.empty() && !(name[0] >= '0' && name[0] <= '9');
    for (char c : name) {
      ok = ok && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_');
    }
    if (!ok) {
      return Wrong(path, "not a name of an environment variable", "use letters, digits and _, and begin with no digit");
    }
    if (value.find('\0') != std::string::npos) return Wrong(path, "has a NUL byte in it", "remove it");
  }
  return absl::OkStatus();
}

absl::Status ValidateCheckpoint(const v1::JobSpec& spec) {
  const v1::CheckpointSpec& checkpoint = spec.checkpoint();
  if (!spec.has_train()) {
    if (!spec.has_checkpoint()) return absl::OkStatus();
    return Wrong("checkpoint", "given together with command",
                 "a command keeps its own checkpoints, so remove it; tell the command its folder through env");
  }
  if (checkpoint.dir().empty()) {
    return Wrong("checkpoint.dir", "missing", "give a folder that every node of the job sees, as an absolute path");
  }
  MUSTER_RETURN_IF_ERROR(CheckPath("checkpoint.dir", checkpoint.dir()));
  MUSTER_RETURN_IF_ERROR(CheckRange("checkpoint.every", checkpoint.every(), 1, INT64_MAX,
                                    "a checkpoint is due every so many steps, at least 1"));
  return CheckRange("checkpoint.keep", checkpoint.keep(), 1, INT32_MAX,
                    "a restart needs one to start from, so keep at least 1");
}

absl::Status CheckDuration(absl::string_view path, const google::protobuf::Duration& value) {
  absl::Duration d = FromProto(value);
  if (d >= absl::ZeroDuration() && d <= kMaxDuration) return absl::OkStatus();
  return Wrong(path, absl::FormatDuration(d), "use 0s to 24h");
}

}  // namespace

absl::Status Validate(const v1::JobSpec& spec) {
  MUSTER_RETURN_IF_ERROR(CheckUtf8(spec));
  MUSTER_RETURN_IF_ERROR(ValidateName(spec.name()));
  MUSTER_RETURN_IF_ERROR(ValidateNodes(spec.nodes()));
  MUSTER_RETURN_IF_ERROR(CheckRange("slots_per_node", spec.slots_per_node(), 1, INT32_MAX, "a node needs at least 1"));
  MUSTER_RETURN_IF_ERROR(CheckRange("slots_per_node", spec.slots_per_node(), 1, kMaxSlots,
                                    absl::StrFormat("use at most %d a node", kMaxSlots)));
  if (spec.device() != v1::CPU && spec.device() != v1::GPU) {
    return Wrong("device", absl::StrCat(static_cast<int>(spec.device())), "use cpu or gpu");
  }
  MUSTER_RETURN_IF_ERROR(ValidateKind(spec));
  if (spec.has_train()) {
    if (spec.device() == v1::GPU) {
      return Wrong("device", "gpu: the native trainer runs on cpu in this release", "use a command, or device: cpu");
    }
    MUSTER_RETURN_IF_ERROR(spec_internal::ValidateTrain(spec.train(), spec.nodes(), spec.slots_per_node()));
  }
  MUSTER_RETURN_IF_ERROR(ValidateCommand(spec));
  if (spec.has_train() && !spec.working_dir().empty()) {
    return Wrong("working_dir", "given together with train", "only a command has one, so remove it");
  }
  MUSTER_RETURN_IF_ERROR(CheckPath("working_dir", spec.working_dir()));
  MUSTER_RETURN_IF_ERROR(ValidateEnv(spec));
  MUSTER_RETURN_IF_ERROR(ValidateCheckpoint(spec));
  MUSTER_RETURN_IF_ERROR(CheckRange("restarts.user", spec.restarts().user(), 0, INT32_MAX, "use 0 or more"));
  MUSTER_RETURN_IF_ERROR(
      CheckRange("restarts.infrastructure", spec.restarts().infrastructure(), 0, INT32_MAX, "use 0 or more"));
  MUSTER_RETURN_IF_ERROR(CheckDuration("elastic.cooldown", spec.elastic().cooldown()));
  return CheckDuration("grace", spec.grace());
}

}  // namespace muster
