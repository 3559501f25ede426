#include "common/spec/yaml_spec.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "common/spec/yaml_message.h"
#include "common/status_macros.h"
#include "yaml-cpp/yaml.h"

namespace muster {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using spec_internal::YamlReader;

constexpr size_t kMaxBytes = 1 << 20;

// yaml-cpp throws; its exceptions end here.
absl::StatusOr<std::vector<YAML::Node>> LoadYaml(absl::string_view text, const YamlReader& reader) {
  try {
    return YAML::LoadAll(std::string(text));
  } catch (const YAML::Exception& e) {
    return reader.Error(e.mark, "", absl::StrCat("not valid YAML: ", e.msg));
  }
}

absl::Status SetByPath(const std::vector<std::string>& path, const YAML::Node& value, YamlReader* reader,
                       Message* message) {
  std::string so_far;
  for (size_t i = 0; i < path.size(); ++i) {
    absl::StrAppend(&so_far, so_far.empty() ? "" : ".", path[i]);
    const FieldDescriptor* field = message->GetDescriptor()->FindFieldByName(path[i]);
    if (field == nullptr) {
      return reader->Error(YAML::Mark::null_mark(), so_far, reader->UnknownField(message->GetDescriptor(), path[i]));
    }
    bool last = i + 1 == path.size();
    if (last) return reader->ReadField(value, so_far, message, field);
    if (field->is_map()) {
      // The rest is the key: NAME of env.NAME.
      if (i + 2 != path.size()) break;
      v1::JobSpec* spec = dynamic_cast<v1::JobSpec*>(message);
      if (spec == nullptr || field->name() != "env" || !value.IsScalar()) break;
      (*spec->mutable_env())[path[i + 1]] = value.Scalar();
      return absl::OkStatus();
    }
    if (field->is_repeated() || field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE ||
        field->message_type()->full_name() == "google.protobuf.Duration") {
      break;
    }
    message = message->GetReflection()->MutableMessage(message, field);
  }
  return reader->Error(YAML::Mark::null_mark(), so_far, "has no fields in it; end the path here");
}

}  // namespace

absl::StatusOr<ParsedJobSpec> ParseJobSpecYaml(absl::string_view text, const std::string& source) {
  YamlReader reader(source);
  if (text.size() > kMaxBytes) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s: %d bytes; a job spec has at most %d, is this the right file?", source, text.size(), kMaxBytes));
  }
  MUSTER_ASSIGN_OR_RETURN(std::vector<YAML::Node> documents, LoadYaml(text, reader));
  if (documents.empty() || documents[0].IsNull()) {
    return absl::InvalidArgumentError(absl::StrCat(source, ": empty; see docs/job_spec.md for an example"));
  }
  if (documents.size() > 1) {
    return reader.Error(documents[1].Mark(), "", "a second document; give each job a file of its own");
  }
  ParsedJobSpec parsed;
  try {
    MUSTER_RETURN_IF_ERROR(reader.ReadMessage(documents[0], "", &parsed.spec));
  } catch (const YAML::Exception& e) {
    return reader.Error(e.mark, "", absl::StrCat("not valid YAML: ", e.msg));
  }
  parsed.places = reader.places();
  return parsed;
}

absl::Status SetJobSpecField(absl::string_view assignment, v1::JobSpec* spec) {
  std::string source = absl::StrCat("--set ", assignment);
  size_t equals = assignment.find('=');
  if (equals == absl::string_view::npos || equals == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(source, ": not an assignment; give a field's path and its value, such as nodes.min=2"));
  }
  YamlReader reader(source, /*with_lines=*/false);
  MUSTER_ASSIGN_OR_RETURN(std::vector<YAML::Node> documents, LoadYaml(assignment.substr(equals + 1), reader));
  if (documents.empty()) documents.emplace_back();
  std::vector<std::string> path = absl::StrSplit(assignment.substr(0, equals), '.');
  try {
    return SetByPath(path, documents[0], &reader, spec);
  } catch (const YAML::Exception& e) {
    return reader.Error(YAML::Mark::null_mark(), "", absl::StrCat("not valid YAML: ", e.msg));
  }
}

absl::Status WithPlace(const absl::Status& status, const std::map<std::string, std::string>& places) {
  if (status.ok()) return status;
  std::vector<std::string> parts = absl::StrSplit(std::string(status.message()), absl::MaxSplits(": ", 1));
  std::string path = parts[0];
  while (!path.empty()) {
    auto found = places.find(path);
    if (found != places.end()) return absl::Status(status.code(), absl::StrCat(found->second, ": ", status.message()));
    size_t cut = path.find_last_of(".[");
    path.resize(cut == std::string::npos ? 0 : cut);
  }
  // A field of the top level that is missing has no place but the file.
  if (places.empty()) return status;
  std::string file = places.begin()->second;
  for (int i = 0; i < 2; ++i) file.resize(file.find_last_of(':'));
  return absl::Status(status.code(), absl::StrCat(file, ": ", status.message()));
}

}  // namespace muster
