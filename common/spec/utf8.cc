#include "common/spec/utf8.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace muster {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

absl::Status Check(const Message& message, const std::string& prefix) {
  const Reflection* reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    bool text = field->type() == FieldDescriptor::TYPE_STRING;
    bool nested = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (!text && !nested) continue;
    int count = field->is_repeated() ? reflection->FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      std::string path = absl::StrCat(prefix, field->name());
      if (field->is_repeated()) absl::StrAppend(&path, "[", i, "]");
      if (nested) {
        const Message& child = field->is_repeated() ? reflection->GetRepeatedMessage(message, field, i)
                                                    : reflection->GetMessage(message, field);
        if (absl::Status status = Check(child, path + "."); !status.ok()) return status;
        continue;
      }
      std::string value = field->is_repeated() ? reflection->GetRepeatedString(message, field, i)
                                               : reflection->GetString(message, field);
      if (!IsValidUtf8(value)) {
        return absl::InvalidArgumentError(
            absl::StrCat(path, ": not valid UTF-8; write it in UTF-8, or put the bytes into a file"));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

bool IsValidUtf8(absl::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    uint8_t lead = static_cast<uint8_t>(text[i]);
    size_t more = lead < 0x80 ? 0 : lead >= 0xC2 && lead <= 0xDF ? 1 : (lead & 0xF0) == 0xE0 ? 2 : 3;
    if (more == 3 && !(lead >= 0xF0 && lead <= 0xF4)) return false;
    if (text.size() - i <= more) return false;
    for (size_t k = 1; k <= more; ++k) {
      uint8_t c = static_cast<uint8_t>(text[i + k]);
      uint8_t low = 0x80, high = 0xBF;
      if (k == 1 && lead == 0xE0) low = 0xA0;
      if (k == 1 && lead == 0xED) high = 0x9F;
      if (k == 1 && lead == 0xF0) low = 0x90;
      if (k == 1 && lead == 0xF4) high = 0x8F;
      if (c < low || c > high) return false;
    }
    i += more + 1;
  }
  return true;
}

absl::Status CheckUtf8(const Message& message) { return Check(message, ""); }

}  // namespace muster
