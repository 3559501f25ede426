#include "common/spec/yaml_message.h"

#include <algorithm>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "common/proto_time.h"
#include "common/spec/near_name.h"
#include "common/status_macros.h"

namespace muster::spec_internal {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr char kDuration[] = "google.protobuf.Duration";

std::string Join(const std::string& path, const std::string& name) {
  return path.empty() ? name : absl::StrCat(path, ".", name);
}

bool IsNested(const FieldDescriptor* field) {
  return field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !field->is_map() &&
         field->message_type()->full_name() != kDuration;
}

// The paths below `message` that end in a field of this name: a right name in the wrong place.
void FindElsewhere(const Descriptor* message, const std::string& prefix, const std::string& name,
                   std::vector<std::string>* found) {
  for (int i = 0; i < message->field_count(); ++i) {
    const FieldDescriptor* field = message->field(i);
    std::string path = Join(prefix, field->name());
    if (field->name() == name) found->push_back(path);
    if (IsNested(field)) FindElsewhere(field->message_type(), path, name, found);
  }
}

}  // namespace

std::string YamlReader::Place(const YAML::Mark& mark) const {
  if (!with_lines_ || mark.is_null()) return source_;
  return absl::StrCat(source_, ":", mark.line + 1, ":", mark.column + 1);
}

absl::Status YamlReader::Error(const YAML::Mark& mark, const std::string& path, const std::string& what) const {
  return absl::InvalidArgumentError(absl::StrCat(Place(mark), ": ", path, path.empty() ? "" : ": ", what));
}

std::string YamlReader::UnknownField(const Descriptor* message, const std::string& name) const {
  std::vector<std::string> names;
  for (int i = 0; i < message->field_count(); ++i) names.push_back(message->field(i)->name());
  if (std::string near = NearName(name, names); !near.empty()) {
    return absl::StrCat("unknown field; did you mean ", near, "?");
  }
  std::vector<std::string> elsewhere;
  FindElsewhere(message, "", name, &elsewhere);
  if (!elsewhere.empty()) return absl::StrCat("unknown field; did you mean ", elsewhere[0], "?");
  return absl::StrCat("unknown field; known are ", absl::StrJoin(names, ", "));
}

absl::Status YamlReader::ReadMessage(const YAML::Node& node, const std::string& path, Message* message) {
  if (node.IsNull()) return absl::OkStatus();
  const Descriptor* descriptor = message->GetDescriptor();
  if (!node.IsMap()) {
    std::vector<std::string> names;
    for (int i = 0; i < descriptor->field_count(); ++i) names.push_back(descriptor->field(i)->name());
    return Error(node.Mark(), path, absl::StrCat("not a mapping; give fields of it, such as ", names[0], ": ..."));
  }
  std::set<std::string> seen;
  for (const auto& entry : node) {
    if (!entry.first.IsScalar())
      return Error(entry.first.Mark(), path, "a field's name is not plain text; give a name");
    const std::string& name = entry.first.Scalar();
    std::string field_path = Join(path, name);
    const FieldDescriptor* field = descriptor->FindFieldByName(name);
    if (field == nullptr) return Error(entry.first.Mark(), field_path, UnknownField(descriptor, name));
    if (!seen.insert(name).second) {
      return Error(entry.first.Mark(), field_path,
                   absl::StrCat("given twice, first at ", places_[field_path], "; remove one"));
    }
    places_[field_path] = Place(entry.first.Mark());
    MUSTER_RETURN_IF_ERROR(ReadField(entry.second, field_path, message, field));
  }
  return absl::OkStatus();
}

absl::Status YamlReader::ReadField(const YAML::Node& node, const std::string& path, Message* message,
                                   const FieldDescriptor* field) {
  if (field->is_map()) return ReadMap(node, path, message, field);
  if (field->is_repeated()) {
    if (!node.IsSequence()) {
      return Error(node.Mark(), path, absl::StrCat("not a list; give one, such as ", field->name(), ": [a, b]"));
    }
    message->GetReflection()->ClearField(message, field);
    for (size_t i = 0; i < node.size(); ++i) {
      std::string item_path = absl::StrCat(path, "[", i, "]");
      places_[item_path] = Place(node[i].Mark());
      if (IsNested(field)) {
        MUSTER_RETURN_IF_ERROR(ReadMessage(node[i], item_path, message->GetReflection()->AddMessage(message, field)));
      } else {
        MUSTER_RETURN_IF_ERROR(ReadScalar(node[i], item_path, message, field));
      }
    }
    return absl::OkStatus();
  }
  if (IsNested(field)) return ReadMessage(node, path, message->GetReflection()->MutableMessage(message, field));
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    return ReadDuration(node, path, message->GetReflection()->MutableMessage(message, field));
  }
  return ReadScalar(node, path, message, field);
}

absl::Status YamlReader::ReadMap(const YAML::Node& node, const std::string& path, Message* message,
                                 const FieldDescriptor* field) {
  if (!node.IsMap() && !node.IsNull()) {
    return Error(node.Mark(), path,
                 absl::StrCat("not a mapping; give one, such as ", field->name(), ": {NAME: value}"));
  }
  message->GetReflection()->ClearField(message, field);
  std::set<std::string> seen;
  for (const auto& entry : node) {
    if (!entry.first.IsScalar()) return Error(entry.first.Mark(), path, "a name is not plain text; give a name");
    std::string entry_path = Join(path, entry.first.Scalar());
    if (!seen.insert(entry.first.Scalar()).second) {
      return Error(entry.first.Mark(), entry_path,
                   absl::StrCat("given twice, first at ", places_[entry_path], "; remove one"));
    }
    places_[entry_path] = Place(entry.first.Mark());
    Message* pair = message->GetReflection()->AddMessage(message, field);
    const Descriptor* entry_type = field->message_type();
    MUSTER_RETURN_IF_ERROR(ReadScalar(entry.first, entry_path, pair, entry_type->map_key()));
    MUSTER_RETURN_IF_ERROR(ReadScalar(entry.second, entry_path, pair, entry_type->map_value()));
  }
  return absl::OkStatus();
}

absl::Status YamlReader::ReadDuration(const YAML::Node& node, const std::string& path, Message* message) {
  static constexpr char kRemedy[] = "; give a number and a unit, such as 10s, 500ms or 2m";
  if (!node.IsScalar()) return Error(node.Mark(), path, absl::StrCat("not a duration", kRemedy));
  absl::Duration duration;
  if (!absl::ParseDuration(node.Scalar(), &duration) || duration == absl::InfiniteDuration() ||
      duration == -absl::InfiniteDuration()) {
    return Error(node.Mark(), path, absl::StrCat("\"", node.Scalar(), "\" is not a duration", kRemedy));
  }
  google::protobuf::Duration value = ToProto(duration);
  message->CopyFrom(value);
  return absl::OkStatus();
}

}  // namespace muster::spec_internal
