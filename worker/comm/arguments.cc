#include "worker/comm/arguments.h"

#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace muster::worker {
namespace {

absl::Status CheckOne(absl::string_view what, const void* data, int64_t count) {
  if (count < 0) return absl::InvalidArgumentError(absl::StrFormat("%s: %d elements", what, count));
  if (count > 0 && data == nullptr) {
    return absl::InvalidArgumentError(absl::StrFormat("%s: no memory for %d elements", what, count));
  }
  return absl::OkStatus();
}

absl::Status CheckPair(absl::string_view what, const ConstBuffer& in, const Buffer& out) {
  if (absl::Status s = CheckOne(what, in.data, in.count); !s.ok()) return s;
  if (absl::Status s = CheckOne(what, out.data, out.count); !s.ok()) return s;
  if (in.type != out.type) {
    return absl::InvalidArgumentError(absl::StrFormat("%s: input and output have different types", what));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckAllReduce(const Buffer& inout) { return CheckOne("all-reduce", inout.data, inout.count); }

absl::Status CheckReduceScatter(const ConstBuffer& in, const Buffer& out, int size) {
  if (absl::Status s = CheckPair("reduce-scatter", in, out); !s.ok()) return s;
  if (in.count != out.count * size) {
    return absl::InvalidArgumentError(
        absl::StrFormat("reduce-scatter: %d elements in, %d out, %d ranks; the input must be ranks * output", in.count,
                        out.count, size));
  }
  return absl::OkStatus();
}

absl::Status CheckAllGather(const ConstBuffer& in, const Buffer& out, int size) {
  if (absl::Status s = CheckPair("all-gather", in, out); !s.ok()) return s;
  if (out.count != in.count * size) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "all-gather: %d elements in, %d out, %d ranks; the output must be ranks * input", in.count, out.count, size));
  }
  return absl::OkStatus();
}

absl::Status CheckBroadcast(const Buffer& inout, int root, int size) {
  if (absl::Status s = CheckOne("broadcast", inout.data, inout.count); !s.ok()) return s;
  if (root < 0 || root >= size) {
    return absl::InvalidArgumentError(absl::StrFormat("broadcast: root %d is none of %d ranks", root, size));
  }
  return absl::OkStatus();
}

}  // namespace muster::worker
