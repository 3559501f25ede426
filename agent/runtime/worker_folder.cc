#include "agent/runtime/worker_folder.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/file_system.h"
#include "common/log.h"
#include "common/proto_time.h"
#include "common/status_macros.h"

namespace muster::agent {
namespace {

constexpr int64_t kTailBytes = 64 * 1024;
// A line of a log may be of any length; what is told of it may not.
constexpr size_t kMaxLine = 2048;

// Renamed into place, not synced: it must outlive this process, not the machine, with which the worker dies.
absl::Status Replace(const std::string& path, const std::string& content) {
  const std::string aside = path + ".tmp";
  {
    std::ofstream file(aside, std::ios::binary | std::ios::trunc);
    file << content;
    file.flush();
    if (!file) return absl::InternalError(absl::StrCat("cannot write ", aside, ": ", std::strerror(errno)));
  }
  return FileSystem::Posix()->Rename(aside, path);
}

}  // namespace

WorkerFolder WorkerFolder::Of(const std::string& workers_dir, const WorkerKey& worker) {
  return WorkerFolder(
      absl::StrCat(workers_dir, "/", worker.gang.job.value(), ".", worker.gang.generation.value(), ".", worker.rank));
}

std::string WorkerFolder::log() const { return absl::StrCat(path_, "/", shim::kLogName); }
std::string WorkerFolder::scratch() const { return absl::StrCat(path_, "/scratch"); }

absl::Status WorkerFolder::Create(const v1::WorkerStatus& status) {
  if (::mkdir(path_.c_str(), 0755) != 0) {
    return errno == EEXIST ? absl::AlreadyExistsError(absl::StrCat(path_, " is there already"))
                           : absl::InternalError(absl::StrCat("cannot make ", path_, ": ", std::strerror(errno)));
  }
  MUSTER_RETURN_IF_ERROR(FileSystem::Posix()->CreateDirs(scratch()));
  return Save(status, std::nullopt);
}

absl::Status WorkerFolder::Save(const v1::WorkerStatus& status, const std::optional<v1::WorkerFailure>& failure) {
  if (failure) MUSTER_RETURN_IF_ERROR(Replace(absl::StrCat(path_, "/failure"), failure->SerializeAsString()));
  return Replace(absl::StrCat(path_, "/worker"), status.SerializeAsString());
}

absl::StatusOr<v1::WorkerStatus> WorkerFolder::LoadStatus() const {
  const std::string path = absl::StrCat(path_, "/worker");
  MUSTER_ASSIGN_OR_RETURN(const std::string content, ReadFile(FileSystem::Posix(), path));
  v1::WorkerStatus status;
  if (!status.ParseFromString(content)) return absl::DataLossError(absl::StrCat(path, " cannot be read"));
  return status;
}

std::optional<v1::WorkerFailure> WorkerFolder::LoadFailure() const {
  const absl::StatusOr<std::string> content = ReadFile(FileSystem::Posix(), absl::StrCat(path_, "/failure"));
  v1::WorkerFailure failure;
  if (!content.ok() || !failure.ParseFromString(*content)) return std::nullopt;
  return failure;
}

std::optional<shim::StartRecord> WorkerFolder::LoadStart() const {
  const absl::StatusOr<std::string> text = ReadFile(FileSystem::Posix(), absl::StrCat(path_, "/", shim::kInfoName));
  if (!text.ok()) return std::nullopt;
  const absl::StatusOr<shim::StartRecord> record = shim::DecodeStart(*text);
  return record.ok() ? std::optional(*record) : std::nullopt;
}

std::optional<shim::ExitRecord> WorkerFolder::LoadExit() const {
  const absl::StatusOr<std::string> text = ReadFile(FileSystem::Posix(), absl::StrCat(path_, "/", shim::kExitName));
  if (!text.ok()) return std::nullopt;
  const absl::StatusOr<shim::ExitRecord> record = shim::DecodeExit(*text);
  return record.ok() ? std::optional(*record) : std::nullopt;
}

bool WorkerFolder::Marked(const char* mark) const {
  const absl::StatusOr<bool> there = FileSystem::Posix()->Exists(absl::StrCat(path_, "/", mark));
  return there.ok() && *there;
}

void WorkerFolder::Mark(const char* mark) {
  if (const absl::Status status = Replace(absl::StrCat(path_, "/", mark), ""); !status.ok()) {
    LogWarning("%s", std::string(status.message()));
  }
}

void WorkerFolder::Remove() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
  if (error) LogWarning("cannot remove %s: %s", path_, error.message());
}

std::vector<std::string> LastLines(const std::string& log_path, int count) {
  const absl::StatusOr<std::unique_ptr<RandomAccessFile>> file = FileSystem::Posix()->NewRandomAccessFile(log_path);
  if (!file.ok()) return {};
  const absl::StatusOr<int64_t> size = (*file)->Size();
  if (!size.ok()) return {};
  const int64_t start = std::max<int64_t>(0, *size - kTailBytes);
  std::string tail(*size - start, '\0');
  if (!(*file)->Read(start, *size - start, tail.data()).ok()) return {};
  if (start > 0) tail.erase(0, tail.find('\n') + 1);

  std::vector<std::string> texts;
  std::map<std::string, std::string> open;  // the parts so far of each stream's line
  for (const absl::string_view line : absl::StrSplit(tail, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> fields = absl::StrSplit(line, absl::MaxSplits(' ', 3));
    if (fields.size() != 4) continue;
    std::string& text = open[std::string(fields[1])];
    absl::StrAppend(&text, fields[3]);
    if (fields[2] == "P") continue;
    if (text.size() > kMaxLine) text = absl::StrCat(text.substr(0, kMaxLine), "...");
    // A protobuf string holds UTF-8 only; output may be anything.
    std::replace_if(
        text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '?');
    texts.push_back(std::move(text));
    text.clear();
  }
  if (texts.size() > static_cast<size_t>(count)) texts.erase(texts.begin(), texts.end() - count);
  return texts;
}

v1::ExitInfo ToExitInfo(const shim::ExitRecord& record, const std::string& log_path) {
  v1::ExitInfo exit;
  exit.set_code(record.code);
  exit.set_signal(record.signal);
  *exit.mutable_at() = ToProto(record.at);
  exit.set_by_agent(record.by_agent);
  exit.set_start_error(record.start_error);
  exit.set_oom_killed(record.oom == shim::OomKilled::kYes);
  for (std::string& line : LastLines(log_path, 20)) exit.add_last_lines(std::move(line));
  if (record.orphaned) exit.add_last_lines("muster-shim: killed: no agent was there for too long");
  return exit;
}

}  // namespace muster::agent
