#ifndef MUSTER_TOOLS_MUSTERCTL_VIEW_JOB_DETAIL_H_
#define MUSTER_TOOLS_MUSTERCTL_VIEW_JOB_DETAIL_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "proto/ctl.pb.h"
#include "tools/musterctl/view/style.h"

namespace muster::ctl {

struct JobDetailOptions {
  absl::Time now;
  // Only the newest so many; 0: all.
  int events = 20;
};

// `musterctl describe`. Pure.
std::string RenderJobDetail(const Style& style, const v1::JobDetail& detail,
                            const std::vector<v1::StoredCheckpoint>& checkpoints, const JobDetailOptions& options);

// "  12:03:41  NodeLost  node n2 lost ..."; the type in colour.
std::string RenderEvent(const Style& style, const v1::StoredEvent& event);

}  // namespace muster::ctl

#endif  // MUSTER_TOOLS_MUSTERCTL_VIEW_JOB_DETAIL_H_
