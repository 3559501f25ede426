#ifndef MUSTER_COMMON_SPEC_YAML_MESSAGE_H_
#define MUSTER_COMMON_SPEC_YAML_MESSAGE_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "yaml-cpp/yaml.h"

namespace muster::spec_internal {

// Writes YAML into a protobuf message, guided by the message's descriptor. Reads JSON as protobuf prints it, too.
//   message          mapping, or nothing (all defaults)
//   map, repeated    mapping, sequence
//   Duration         "10s", "1m30s"
//   enum             a value's name in any case, not the UNSPECIFIED one
//   numbers          in range, decimal
//   string           any scalar's text
class YamlReader {
 public:
  // `source` begins each message: "job.yaml" gives "job.yaml:<line>:<column>: <path>: ...", or, where the text is too
  // short to need them, no line and column.
  explicit YamlReader(std::string source, bool with_lines = true)
      : source_(std::move(source)), with_lines_(with_lines) {}

  // Merges: fields that the mapping does not name stay. `path` is the message's own, empty at the top.
  absl::Status ReadMessage(const YAML::Node& node, const std::string& path, google::protobuf::Message* message);
  // A field of `message`; a repeated one or a map is replaced.
  absl::Status ReadField(const YAML::Node& node, const std::string& path, google::protobuf::Message* message,
                         const google::protobuf::FieldDescriptor* field);

  // INVALID_ARGUMENT "<source>:<line>:<column>: <path>: <what>".
  absl::Status Error(const YAML::Mark& mark, const std::string& path, const std::string& what) const;
  // "<field>: unknown field; did you mean ...?" of `name` in `message`.
  std::string UnknownField(const google::protobuf::Descriptor* message, const std::string& name) const;
  std::string Place(const YAML::Mark& mark) const;

  // "<source>:<line>:<column>" of each field read, by its path.
  const std::map<std::string, std::string>& places() const { return places_; }

 private:
  absl::Status ReadScalar(const YAML::Node& node, const std::string& path, google::protobuf::Message* message,
                          const google::protobuf::FieldDescriptor* field);
  absl::Status ReadMap(const YAML::Node& node, const std::string& path, google::protobuf::Message* message,
                       const google::protobuf::FieldDescriptor* field);
  absl::Status ReadDuration(const YAML::Node& node, const std::string& path, google::protobuf::Message* message);

  std::string source_;
  bool with_lines_;
  std::map<std::string, std::string> places_;
};

}  // namespace muster::spec_internal

#endif  // MUSTER_COMMON_SPEC_YAML_MESSAGE_H_
