#ifndef MUSTER_COMMON_SPEC_UTF8_H_
#define MUSTER_COMMON_SPEC_UTF8_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace muster {

// Per RFC 3629: no overlong forms, no surrogates, nothing beyond U+10FFFF.
bool IsValidUtf8(absl::string_view text);

// Protobuf carries text as UTF-8 and refuses a message with anything else, in words that help nobody.
// INVALID_ARGUMENT names the first field that is not UTF-8.
absl::Status CheckUtf8(const google::protobuf::Message& message);

}  // namespace muster

#endif  // MUSTER_COMMON_SPEC_UTF8_H_
