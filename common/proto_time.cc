#include "common/proto_time.h"

namespace muster {

google::protobuf::Timestamp ToProto(absl::Time t) {
  const int64_t seconds = absl::ToUnixSeconds(t);
  google::protobuf::Timestamp out;
  out.set_seconds(seconds);
  out.set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(t - absl::FromUnixSeconds(seconds))));
  return out;
}

google::protobuf::Duration ToProto(absl::Duration d) {
  google::protobuf::Duration out;
  out.set_seconds(absl::IDivDuration(d, absl::Seconds(1), &d));
  out.set_nanos(static_cast<int32_t>(absl::IDivDuration(d, absl::Nanoseconds(1), &d)));
  return out;
}

absl::Time FromProto(const google::protobuf::Timestamp& t) {
  return absl::FromUnixSeconds(t.seconds()) + absl::Nanoseconds(t.nanos());
}

absl::Duration FromProto(const google::protobuf::Duration& d) {
  return absl::Seconds(d.seconds()) + absl::Nanoseconds(d.nanos());
}

}  // namespace muster
