#ifndef MUSTER_WORKER_COMM_GLOO_ERRORS_H_
#define MUSTER_WORKER_COMM_GLOO_ERRORS_H_

#include <exception>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace muster::worker {

// The reason in a Gloo exception: its text without "[file:line] " and in one line.
inline std::string GlooReason(const std::exception& e) {
  std::string text = e.what();
  if (const size_t end = text.find("] "); !text.empty() && text[0] == '[' && end != std::string::npos) {
    text = text.substr(end + 2);
  }
  return text.substr(0, text.find('\n'));
}

// Gloo has no error codes, so this goes by the text: "Connect timeout ...", "Timed out waiting ...", "Application
// timeout caused ...", "...: Connection timed out".
inline bool GlooTimedOut(const std::exception& e) {
  const std::string reason = GlooReason(e);
  return absl::StrContains(reason, "imeout") || absl::StrContains(reason, "imed out");
}

// The one place where what Gloo throws becomes a status. `what` is the operation, `peers` the ranks that are to blame
// ("1, 3").
inline absl::Status GlooStatus(const std::exception& e, absl::string_view what, absl::string_view peers) {
  if (GlooTimedOut(e)) {
    return absl::DeadlineExceededError(absl::StrCat("rank ", peers, " did not answer in ", what, ": ", GlooReason(e)));
  }
  return absl::UnavailableError(absl::StrCat("rank ", peers, " went away in ", what, ": ", GlooReason(e)));
}

}  // namespace muster::worker

#endif  // MUSTER_WORKER_COMM_GLOO_ERRORS_H_
