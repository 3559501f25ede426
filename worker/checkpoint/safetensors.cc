#include "worker/checkpoint/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "nlohmann/json.hpp"
#include "worker/checkpoint/layout.h"

namespace muster::worker {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian and read as they lie");

constexpr int64_t kAlignment = 64;
constexpr char kMetadata[] = "__metadata__";
// The limit of the format's own implementation.
constexpr uint64_t kMaxHeaderBytes = 100'000'000;

absl::Status Damaged(const std::string& path, absl::string_view what) {
  return absl::DataLossError(absl::StrCat(path, ": not a sound safetensors file: ", what));
}

std::string Quoted(const std::string& text) { return nlohmann::json(text).dump(); }

// nothing if `json` is not an entry.
std::optional<SafetensorsEntry> ParseEntry(const std::string& name, const nlohmann::json& json) {
  SafetensorsEntry entry = {.name = name};
  if (!json.is_object() || json.size() != 3 || !json.contains("dtype") || !json["dtype"].is_string()) return {};
  if (!json.contains("shape") || !json["shape"].is_array()) return {};
  if (!json.contains("data_offsets") || !json["data_offsets"].is_array() || json["data_offsets"].size() != 2) return {};
  for (const auto& number : json["shape"]) {
    if (!number.is_number_integer() || number.get<int64_t>() < 0) return {};
    entry.shape.push_back(number.get<int64_t>());
  }
  for (const auto& number : json["data_offsets"]) {
    if (!number.is_number_integer() || number.get<int64_t>() < 0) return {};
  }
  entry.dtype = json["dtype"].get<std::string>();
  entry.begin = json["data_offsets"][0].get<int64_t>();
  entry.end = json["data_offsets"][1].get<int64_t>();
  if (entry.end < entry.begin) return {};
  if (entry.dtype == kDtype) {
    const std::optional<int64_t> elements = Elements(entry.shape);
    if (!elements.has_value() || *elements * 4 != entry.end - entry.begin) return {};
  }
  return entry;
}

// The parser keeps the last of two equal keys; the format forbids them.
absl::StatusOr<nlohmann::json> ParseJson(const std::string& text, const std::string& path) {
  std::set<std::string> names;
  bool twice = false;
  const auto check_names = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
    if (event == nlohmann::json::parse_event_t::key && depth == 1) {
      twice |= !names.insert(parsed.get<std::string>()).second;
    }
    return true;
  };
  nlohmann::json json = nlohmann::json::parse(text, check_names, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object()) return Damaged(path, "its header is no JSON object");
  if (twice) return Damaged(path, "its header has a name twice");
  return json;
}

// The header without a look at the data.
absl::StatusOr<SafetensorsHeader> ParseHeader(const RandomAccessFile& file, const std::string& path) {
  MUSTER_ASSIGN_OR_RETURN(const int64_t size, file.Size());
  if (size < 8) return Damaged(path, absl::StrCat(size, " bytes are too few for a header"));
  uint64_t length = 0;
  MUSTER_RETURN_IF_ERROR(file.Read(0, 8, reinterpret_cast<char*>(&length)));
  if (length > kMaxHeaderBytes || length > static_cast<uint64_t>(size - 8)) {
    return Damaged(path, absl::StrCat("a header of ", length, " bytes in a file of ", size));
  }
  std::string text(length, '\0');
  MUSTER_RETURN_IF_ERROR(file.Read(8, static_cast<int64_t>(length), text.data()));
  if (text.empty() || text[0] != '{') return Damaged(path, "its header does not start with '{'");
  MUSTER_ASSIGN_OR_RETURN(const nlohmann::json json, ParseJson(text, path));

  SafetensorsHeader header;
  header.data_offset = 8 + static_cast<int64_t>(length);
  for (const auto& [name, value] : json.items()) {
    if (name == kMetadata) {
      if (!value.is_object()) return Damaged(path, "its metadata is no object");
      for (const auto& [key, text_value] : value.items()) {
        if (!text_value.is_string()) return Damaged(path, absl::StrCat("metadata ", Quoted(key), " is no text"));
        header.metadata[key] = text_value.get<std::string>();
      }
      continue;
    }
    std::optional<SafetensorsEntry> entry = ParseEntry(name, value);
    if (!entry.has_value()) return Damaged(path, absl::StrCat("the entry of ", Quoted(name), " makes no sense"));
    header.entries.push_back(*std::move(entry));
  }
  return header;
}

}  // namespace

std::string EncodeSafetensorsHeader(const std::map<std::string, std::string>& metadata,
                                    const std::vector<SafetensorsEntry>& entries) {
  std::string json = absl::StrCat("{\"", kMetadata, "\":{");
  json += absl::StrJoin(metadata, ",", [](std::string* out, const auto& pair) {
    absl::StrAppend(out, Quoted(pair.first), ":", Quoted(pair.second));
  });
  json += "}";
  for (const SafetensorsEntry& entry : entries) {
    absl::StrAppend(&json, ",", Quoted(entry.name), ":{\"dtype\":", Quoted(entry.dtype), ",\"shape\":[",
                    absl::StrJoin(entry.shape, ","), "],\"data_offsets\":[", entry.begin, ",", entry.end, "]}");
  }
  json += "}";
  const int64_t unpadded = 8 + static_cast<int64_t>(json.size());
  json.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  const uint64_t length = json.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + json;
}

absl::StatusOr<SafetensorsHeader> ReadSafetensorsHeader(const RandomAccessFile& file, const std::string& path) {
  MUSTER_ASSIGN_OR_RETURN(SafetensorsHeader header, ParseHeader(file, path));
  MUSTER_ASSIGN_OR_RETURN(const int64_t size, file.Size());
  std::sort(header.entries.begin(), header.entries.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  int64_t next = 0;
  for (const SafetensorsEntry& entry : header.entries) {
    if (entry.begin != next) {
      return Damaged(path,
                     absl::StrCat("the data of ", Quoted(entry.name), " starts at ", entry.begin, ", not ", next));
    }
    next = entry.end;
  }
  if (next != size - header.data_offset) {
    return Damaged(path, absl::StrCat("its tensors have ", next, " bytes, the file ", size - header.data_offset));
  }
  return header;
}

absl::StatusOr<std::map<std::string, std::string>> ReadSafetensorsMetadata(const RandomAccessFile& file,
                                                                           const std::string& path) {
  MUSTER_ASSIGN_OR_RETURN(SafetensorsHeader header, ParseHeader(file, path));
  return std::move(header.metadata);
}

}  // namespace muster::worker
