#ifndef MUSTER_COMMON_PROTO_TIME_H_
#define MUSTER_COMMON_PROTO_TIME_H_

#include "absl/time/time.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/timestamp.pb.h"

namespace muster {

google::protobuf::Timestamp ToProto(absl::Time t);
google::protobuf::Duration ToProto(absl::Duration d);
absl::Time FromProto(const google::protobuf::Timestamp& t);
absl::Duration FromProto(const google::protobuf::Duration& d);

}  // namespace muster

#endif  // MUSTER_COMMON_PROTO_TIME_H_
