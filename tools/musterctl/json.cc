#include "tools/musterctl/json.h"

#include "absl/strings/strip.h"
#include "google/protobuf/util/json_util.h"

namespace muster::ctl {
namespace {

std::string Print(const google::protobuf::Message& message, bool whitespace) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.always_print_primitive_fields = true;
  options.add_whitespace = whitespace;
  std::string json;
  // Fails only for Any and invalid UTF-8, and the messages that come here hold neither.
  auto status = google::protobuf::util::MessageToJsonString(message, &json, options);
  if (!status.ok()) return "{}\n";
  return std::string(absl::StripSuffix(json, "\n")) + "\n";
}

}  // namespace

std::string ToJson(const google::protobuf::Message& message) { return Print(message, /*whitespace=*/true); }
std::string ToJsonLine(const google::protobuf::Message& message) { return Print(message, /*whitespace=*/false); }

}  // namespace muster::ctl
