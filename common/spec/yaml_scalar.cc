#include <limits>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/spec/near_name.h"
#include "common/spec/utf8.h"
#include "common/spec/yaml_message.h"

// YamlReader's numbers, names and texts.
namespace muster::spec_internal {
namespace {

using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Sets, or adds to a repeated field.
#define MUSTER_PUT(Type, value)                                                      \
  (field->is_repeated() ? message->GetReflection()->Add##Type(message, field, value) \
                        : message->GetReflection()->Set##Type(message, field, value))

bool AllDigits(const std::string& text) {
  size_t start = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  if (start == text.size()) return false;
  for (size_t i = start; i < text.size(); ++i) {
    if (!absl::ascii_isdigit(text[i])) return false;
  }
  return true;
}

template <typename T>
std::string OutOfRange(const std::string& text) {
  return absl::StrCat(text, " is out of range; use ", std::numeric_limits<T>::min(), " to ",
                      std::numeric_limits<T>::max());
}

// Parses a decimal integer; otherwise says in `*fault` what is wrong.
template <typename T>
bool ParseInteger(const std::string& text, T* value, std::string* fault) {
  if (!AllDigits(text)) {
    *fault = absl::StrCat("\"", text, "\" is not a whole number; give one in decimal digits, such as 8");
    return false;
  }
  if (absl::SimpleAtoi(text, value)) return true;
  *fault = OutOfRange<T>(text);
  return false;
}

const EnumValueDescriptor* FindEnumValue(const EnumDescriptor* type, const std::string& text, std::string* fault) {
  std::vector<std::string> names;
  // Value 0 is the UNSPECIFIED one.
  for (int i = 1; i < type->value_count(); ++i) {
    names.push_back(absl::AsciiStrToLower(type->value(i)->name()));
    if (absl::AsciiStrToLower(text) == names.back()) return type->value(i);
  }
  *fault = absl::StrCat("\"", text, "\" is none of ", absl::StrJoin(names, ", "));
  std::string near = NearName(text, names);
  absl::StrAppend(fault, near.empty() ? "; use one of them" : absl::StrCat("; did you mean ", near, "?"));
  return nullptr;
}

}  // namespace

absl::Status YamlReader::ReadScalar(const YAML::Node& node, const std::string& path, Message* message,
                                    const FieldDescriptor* field) {
  bool text_wanted = field->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
  if (node.IsNull()) {
    // yaml-cpp's mark of nothing is that of what comes next; the key's is what a reader looks for.
    auto key = places_.find(path);
    return absl::InvalidArgumentError(absl::StrCat(key == places_.end() ? Place(node.Mark()) : key->second, ": ", path,
                                                   text_wanted
                                                       ? ": has no value; give one, \"\" for empty text, or remove it"
                                                       : ": has no value; give one, or remove the field"));
  }
  if (!node.IsScalar()) {
    return Error(node.Mark(), path,
                 absl::StrCat(node.IsMap() ? "a mapping" : "a list", ", where a single value belongs; give one value"));
  }
  const std::string& text = node.Scalar();
  std::string fault;
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      if (int32_t value; ParseInteger(text, &value, &fault)) MUSTER_PUT(Int32, value);
      break;
    case FieldDescriptor::CPPTYPE_INT64:
      if (int64_t value; ParseInteger(text, &value, &fault)) MUSTER_PUT(Int64, value);
      break;
    case FieldDescriptor::CPPTYPE_UINT32:
      if (uint32_t value; ParseInteger(text, &value, &fault)) MUSTER_PUT(UInt32, value);
      break;
    case FieldDescriptor::CPPTYPE_UINT64:
      if (uint64_t value; ParseInteger(text, &value, &fault)) MUSTER_PUT(UInt64, value);
      break;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      if (double value; absl::SimpleAtod(text, &value)) {
        MUSTER_PUT(Double, value);
      } else {
        fault = absl::StrCat("\"", text, "\" is not a number; give one, such as 0.1 or 3e-4");
      }
      break;
    case FieldDescriptor::CPPTYPE_FLOAT:
      if (float value; absl::SimpleAtof(text, &value)) {
        MUSTER_PUT(Float, value);
      } else {
        fault = absl::StrCat("\"", text, "\" is not a number; give one, such as 0.1 or 3e-4");
      }
      break;
    case FieldDescriptor::CPPTYPE_BOOL:
      if (text == "true" || text == "false") {
        MUSTER_PUT(Bool, text == "true");
      } else {
        fault = absl::StrCat("\"", text, "\" is neither true nor false; use one of them");
      }
      break;
    case FieldDescriptor::CPPTYPE_ENUM:
      if (const EnumValueDescriptor* value = FindEnumValue(field->enum_type(), text, &fault)) MUSTER_PUT(Enum, value);
      break;
    case FieldDescriptor::CPPTYPE_STRING:
      if (IsValidUtf8(text)) {
        MUSTER_PUT(String, text);
      } else {
        fault = "not valid UTF-8; write it in UTF-8";
      }
      break;
    case FieldDescriptor::CPPTYPE_MESSAGE:
      fault = "a message has no single value; give a mapping";
      break;
  }
  return fault.empty() ? absl::OkStatus() : Error(node.Mark(), path, fault);
}

#undef MUSTER_PUT

}  // namespace muster::spec_internal
