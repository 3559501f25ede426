#include "worker/checkpoint/manifest.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "worker/checkpoint/digest.h"
#include "worker/checkpoint/layout.h"

namespace muster::worker {
namespace {

constexpr char kNoDigest[] = "0000000000000000";
constexpr char kDigestField[] = "\"manifest_xxh3\"";

// Where the 16 digits of manifest_xxh3 stand in the JSON; nothing if it has none.
std::optional<size_t> FindDigest(const std::string& json) {
  const size_t field = json.rfind(kDigestField);
  if (field == std::string::npos) return std::nullopt;
  const size_t colon = json.find_first_not_of(" \t\r\n", field + sizeof(kDigestField) - 1);
  if (colon == std::string::npos || json[colon] != ':') return std::nullopt;
  const size_t quote = json.find_first_not_of(" \t\r\n", colon + 1);
  if (quote == std::string::npos || json[quote] != '"' || json.size() < quote + 18 || json[quote + 17] != '"' ||
      !IsDigest(absl::string_view(json).substr(quote + 1, 16))) {
    return std::nullopt;
  }
  return quote + 1;
}

absl::Status Unsound(absl::string_view where, absl::string_view what) {
  return absl::DataLossError(absl::StrCat(where, ": ", what, "; resume from another checkpoint"));
}

absl::Status CheckVersion(const v1::CheckpointManifest& manifest, absl::string_view where) {
  if (manifest.format_version() > kFormatVersion) {
    return absl::FailedPreconditionError(absl::StrCat(where, ": format version ", manifest.format_version(), ", but ",
                                                      kFormatVersion,
                                                      " is the newest this program reads; use a newer Muster"));
  }
  if (manifest.format_version() < 1) return Unsound(where, "no format version");
  return absl::OkStatus();
}

// Protobuf's parser shows the place on lines of their own.
std::string OneLine(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

using ChunksByFile = std::map<std::string, std::vector<const v1::TensorChunk*>>;

absl::Status CheckFiles(const v1::CheckpointManifest& manifest, absl::string_view where,
                        std::map<std::string, int64_t>* sizes) {
  for (const v1::ShardFile& file : manifest.files()) {
    if (!IsPlainName(file.name()) || file.name() == kManifestName || file.name() == kRemovingName) {
      return Unsound(where, absl::StrCat("'", file.name(), "' is not the name of a shard"));
    }
    if (file.bytes() < 8 || !IsDigest(file.xxh3())) {
      return Unsound(where, absl::StrCat(file.name(), " has ", file.bytes(), " bytes and digest '", file.xxh3(), "'"));
    }
    if (!sizes->emplace(file.name(), file.bytes()).second) {
      return Unsound(where, absl::StrCat(file.name(), " is there twice"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckTensor(const v1::TensorEntry& tensor, const std::map<std::string, int64_t>& sizes,
                         absl::string_view where, ChunksByFile* by_file) {
  const std::optional<int64_t> elements = Elements(tensor.shape());
  if (tensor.name().empty() || tensor.dtype() != kDtype || !elements.has_value()) {
    return Unsound(where, absl::StrCat("tensor '", tensor.name(), "' of dtype '", tensor.dtype(),
                                       "' has a name, dtype or shape that cannot be"));
  }
  std::vector<const v1::TensorChunk*> chunks;
  for (const v1::TensorChunk& chunk : tensor.chunks()) {
    const auto file = sizes.find(chunk.file());
    if (file == sizes.end()) {
      return Unsound(where, absl::StrCat(tensor.name(), " lies in '", chunk.file(), "', which is not in files"));
    }
    if (chunk.start() < 0 || chunk.length() < 1 || chunk.length() > *elements || chunk.offset() < 8 ||
        chunk.offset() > file->second || chunk.length() * 4 > file->second - chunk.offset() ||
        !IsDigest(chunk.xxh3())) {
      return Unsound(where, absl::StrCat("the chunk of ", tensor.name(), " at ", chunk.file(), " byte ", chunk.offset(),
                                         " cannot be"));
    }
    chunks.push_back(&chunk);
    (*by_file)[chunk.file()].push_back(&chunk);
  }
  std::sort(chunks.begin(), chunks.end(),
            [](const v1::TensorChunk* a, const v1::TensorChunk* b) { return a->start() < b->start(); });
  int64_t covered = 0;
  for (const v1::TensorChunk* chunk : chunks) {
    if (chunk->start() != covered || chunk->length() > *elements - covered) {
      return Unsound(where, absl::StrCat("the chunks of ", tensor.name(), " leave a gap or overlap at element ",
                                         std::min(covered, chunk->start())));
    }
    covered += chunk->length();
  }
  if (covered != *elements) {
    return Unsound(where,
                   absl::StrCat("the chunks of ", tensor.name(), " end at element ", covered, " of ", *elements));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> EncodeManifest(const v1::CheckpointManifest& manifest) {
  v1::CheckpointManifest with_digest = manifest;
  with_digest.set_manifest_xxh3(kNoDigest);
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  // So that a reader in another language needs no knowledge of protobuf's defaults.
  options.always_print_primitive_fields = true;
  std::string json;
  const auto status = google::protobuf::util::MessageToJsonString(with_digest, &json, options);
  const std::optional<size_t> digest = FindDigest(json);
  if (!status.ok() || !digest.has_value()) {
    return absl::InternalError(absl::StrCat("cannot write the manifest of step ", manifest.step(),
                                            " as JSON: ", std::string(status.message())));
  }
  return json.replace(*digest, 16, DigestOf(json));
}

absl::StatusOr<v1::CheckpointManifest> DecodeManifest(const std::string& bytes, absl::string_view where) {
  const std::optional<size_t> digest = FindDigest(bytes);
  if (!digest.has_value()) return Unsound(where, "has no manifest_xxh3, so it is not whole");
  std::string undigested = bytes;
  undigested.replace(*digest, 16, kNoDigest);
  if (DigestOf(undigested) != bytes.substr(*digest, 16)) {
    return Unsound(where, "its digest is not that of its bytes; it was damaged or edited");
  }
  google::protobuf::util::JsonParseOptions options;
  // Fields of a later version that keeps the format's number are no harm.
  options.ignore_unknown_fields = true;
  v1::CheckpointManifest manifest;
  const auto status = google::protobuf::util::JsonStringToMessage(bytes, &manifest, options);
  if (!status.ok()) return Unsound(where, absl::StrCat("is no manifest: ", OneLine(std::string(status.message()))));
  MUSTER_RETURN_IF_ERROR(ValidateManifest(manifest, where));
  return manifest;
}

absl::Status ValidateManifest(const v1::CheckpointManifest& manifest, absl::string_view where) {
  MUSTER_RETURN_IF_ERROR(CheckVersion(manifest, where));
  std::map<std::string, int64_t> sizes;
  MUSTER_RETURN_IF_ERROR(CheckFiles(manifest, where, &sizes));
  std::set<std::string> names;
  ChunksByFile by_file;
  for (const v1::TensorEntry& tensor : manifest.tensors()) {
    if (!names.insert(tensor.name()).second) {
      return Unsound(where, absl::StrCat("tensor ", tensor.name(), " is there twice"));
    }
    MUSTER_RETURN_IF_ERROR(CheckTensor(tensor, sizes, where, &by_file));
  }
  for (auto& [file, chunks] : by_file) {
    std::sort(chunks.begin(), chunks.end(),
              [](const v1::TensorChunk* a, const v1::TensorChunk* b) { return a->offset() < b->offset(); });
    for (size_t i = 1; i < chunks.size(); ++i) {
      if (chunks[i]->offset() < chunks[i - 1]->offset() + chunks[i - 1]->length() * 4) {
        return Unsound(where, absl::StrCat("chunks overlap in ", file, " at byte ", chunks[i]->offset()));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace muster::worker
