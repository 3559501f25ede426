#include "worker/checkpoint/remedy.h"

#include "absl/strings/str_cat.h"

namespace muster::worker {

absl::Status WithRemedy(const absl::Status& status, const std::string& job_dir) {
  absl::string_view remedy;
  if (absl::IsResourceExhausted(status)) {
    remedy = "; free space there, or lower checkpoint.keep";
  } else if (absl::IsPermissionDenied(status)) {
    remedy = "; make it writable for the workers' user, or choose another checkpoint.dir";
  } else {
    return status;
  }
  return absl::Status(status.code(), absl::StrCat("checkpoint in ", job_dir, ": ", status.message(), remedy));
}

}  // namespace muster::worker
