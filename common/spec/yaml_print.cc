#include "common/spec/yaml_print.h"

#include <map>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "common/proto_time.h"
#include "google/protobuf/message.h"

namespace muster {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Plain where no reader could take it for anything but this text; else in double quotes.
std::string Quote(const std::string& text) {
  bool plain = !text.empty() && (absl::ascii_isalpha(text[0]) || text[0] == '/');
  for (char c : text) plain = plain && (absl::ascii_isalnum(c) || c == '_' || c == '-' || c == '/' || c == '.');
  // YAML's other names of true, false and nothing.
  for (const char* word : {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}) {
    plain = plain && absl::AsciiStrToLower(text) != word;
  }
  if (plain) return text;
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      absl::StrAppend(&out, "\\", std::string(1, c));
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      absl::StrAppendFormat(&out, "\\x%02x", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// The shortest text that reads back as the same number.
std::string Number(double value) {
  for (int digits = 6; digits < 17; ++digits) {
    std::string text = absl::StrFormat("%.*g", digits, value);
    if (std::stod(text) == value) return text;
  }
  return absl::StrFormat("%.17g", value);
}

std::string Scalar(const Message& message, const FieldDescriptor* field) {
  const Reflection* r = message.GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return absl::StrCat(r->GetInt32(message, field));
    case FieldDescriptor::CPPTYPE_INT64:
      return absl::StrCat(r->GetInt64(message, field));
    case FieldDescriptor::CPPTYPE_UINT32:
      return absl::StrCat(r->GetUInt32(message, field));
    case FieldDescriptor::CPPTYPE_UINT64:
      return absl::StrCat(r->GetUInt64(message, field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return Number(r->GetDouble(message, field));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return Number(r->GetFloat(message, field));
    case FieldDescriptor::CPPTYPE_BOOL:
      return r->GetBool(message, field) ? "true" : "false";
    case FieldDescriptor::CPPTYPE_ENUM:
      return absl::AsciiStrToLower(r->GetEnum(message, field)->name());
    case FieldDescriptor::CPPTYPE_STRING:
      return Quote(r->GetString(message, field));
    case FieldDescriptor::CPPTYPE_MESSAGE: {
      google::protobuf::Duration duration;
      duration.CopyFrom(r->GetMessage(message, field));
      return absl::FormatDuration(FromProto(duration));
    }
  }
  return "";
}

void Print(const Message& message, int indent, std::string* out) {
  const Reflection* r = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  r->ListFields(message, &fields);
  std::string space(indent, ' ');
  for (const FieldDescriptor* field : fields) {
    absl::StrAppend(out, space, field->name(), ":");
    if (field->is_map()) {
      std::map<std::string, std::string> sorted;
      for (int i = 0; i < r->FieldSize(message, field); ++i) {
        const Message& entry = r->GetRepeatedMessage(message, field, i);
        sorted[Scalar(entry, field->message_type()->map_key())] = Scalar(entry, field->message_type()->map_value());
      }
      *out += "\n";
      for (const auto& [key, value] : sorted) absl::StrAppend(out, space, "  ", key, ": ", value, "\n");
    } else if (field->is_repeated()) {
      std::vector<std::string> items;
      for (int i = 0; i < r->FieldSize(message, field); ++i) {
        items.push_back(Quote(r->GetRepeatedString(message, field, i)));
      }
      absl::StrAppend(out, " [", absl::StrJoin(items, ", "), "]\n");
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE &&
               field->message_type()->full_name() != "google.protobuf.Duration") {
      *out += "\n";
      Print(r->GetMessage(message, field), indent + 2, out);
    } else {
      absl::StrAppend(out, " ", Scalar(message, field), "\n");
    }
  }
}

}  // namespace

std::string JobSpecToYaml(const v1::JobSpec& spec) {
  std::string out;
  Print(spec, 0, &out);
  return out;
}

}  // namespace muster
