#include "coordinator/runtime/log_file_name.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace muster::coordinator {
namespace {

constexpr size_t kMaxJobIdLength = 64;
// With the rest of the name within what file systems allow.
constexpr size_t kMaxNodeIdLength = 200;
constexpr int kMaxRank = 1 << 20;

bool IsNodeId(absl::string_view id) {
  return !id.empty() && id.size() <= kMaxNodeIdLength && std::all_of(id.begin(), id.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
  });
}

// Digits only: SimpleAtoi alone takes signs and spaces.
template <typename T>
bool ConsumeNumber(absl::string_view* text, T* value) {
  size_t n = 0;
  while (n < text->size() && absl::ascii_isdigit(static_cast<unsigned char>((*text)[n]))) ++n;
  const bool ok = n > 0 && absl::SimpleAtoi(text->substr(0, n), value);
  text->remove_prefix(n);
  return ok;
}

}  // namespace

std::string LogFileName::ToString() const {
  return absl::StrCat("g", generation.value(), "-r", rank, ".", node.value(), ".log");
}

std::optional<LogFileName> LogFileName::Parse(absl::string_view name) {
  LogFileName file;
  uint64_t generation = 0;
  if (!absl::ConsumePrefix(&name, "g") || !ConsumeNumber(&name, &generation) || !absl::ConsumePrefix(&name, "-r") ||
      !ConsumeNumber(&name, &file.rank) || !absl::ConsumePrefix(&name, ".") || !absl::ConsumeSuffix(&name, ".log") ||
      !IsNodeId(name)) {
    return std::nullopt;
  }
  file.generation = Generation(generation);
  file.node = NodeId(std::string(name));
  return file;
}

bool operator<(const LogFileName& a, const LogFileName& b) {
  return std::tie(a.generation, a.rank, a.node) < std::tie(b.generation, b.rank, b.node);
}

bool operator==(const LogFileName& a, const LogFileName& b) {
  return std::tie(a.generation, a.rank, a.node) == std::tie(b.generation, b.rank, b.node);
}

bool IsJobId(absl::string_view id) {
  return !id.empty() && id.size() <= kMaxJobIdLength && id.front() != '-' &&
         std::all_of(id.begin(), id.end(), [](char c) {
           return absl::ascii_islower(static_cast<unsigned char>(c)) ||
                  absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '-';
         });
}

absl::StatusOr<LogFileName> FileOfChunk(const v1::LogChunk& chunk) {
  if (!IsJobId(chunk.job_id())) {
    return absl::InvalidArgumentError(
        absl::StrCat("log chunk: job id '", absl::CHexEscape(chunk.job_id()), "' is none that a coordinator gives"));
  }
  const std::string where = absl::StrCat("log chunk of job ", chunk.job_id(), ": ");
  if (!IsNodeId(chunk.node_id())) {
    return absl::InvalidArgumentError(absl::StrCat(where, "node id '", absl::CHexEscape(chunk.node_id()),
                                                   "' is not 1 to ", kMaxNodeIdLength, " of [A-Za-z0-9._-]"));
  }
  if (chunk.generation() == 0) return absl::InvalidArgumentError(absl::StrCat(where, "generation 0 never runs"));
  if (chunk.rank() < 0 || chunk.rank() > kMaxRank) {
    return absl::InvalidArgumentError(absl::StrCat(where, "rank ", chunk.rank(), " is not 0 to ", kMaxRank));
  }
  if (chunk.offset() < 0) {
    return absl::InvalidArgumentError(absl::StrCat(where, "offset ", chunk.offset(), " is negative"));
  }
  return LogFileName{Generation(chunk.generation()), chunk.rank(), NodeId(chunk.node_id())};
}

}  // namespace muster::coordinator
