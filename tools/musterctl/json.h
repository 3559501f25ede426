#ifndef MUSTER_TOOLS_MUSTERCTL_JSON_H_
#define MUSTER_TOOLS_MUSTERCTL_JSON_H_

#include <string>

#include "google/protobuf/message.h"

namespace muster::ctl {

// Protobuf's JSON with the field names of proto/, every field written but absent messages and optional ones. Ends in
// '\n'. 64-bit integers are strings, as protobuf has them.
std::string ToJson(const google::protobuf::Message& message);
// The same on one line: for streams of messages.
std::string ToJsonLine(const google::protobuf::Message& message);

}  // namespace muster::ctl

#endif  // MUSTER_TOOLS_MUSTERCTL_JSON_H_
