#ifndef MUSTER_TOOLS_MUSTERCTL_VIEW_LISTS_H_
#define MUSTER_TOOLS_MUSTERCTL_VIEW_LISTS_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "proto/ctl.pb.h"
#include "tools/musterctl/view/style.h"

namespace muster::ctl {

// Whole texts, each line ending in '\n'. Pure.
std::string RenderJobs(const Style& style, const std::vector<v1::JobView>& jobs, absl::Time now);
std::string RenderNodes(const Style& style, const std::vector<v1::NodeView>& nodes, absl::Time now);
std::string RenderCheckpoints(const Style& style, const std::vector<v1::StoredCheckpoint>& checkpoints, absl::Time now);
std::string RenderCluster(const Style& style, const v1::ClusterView& cluster, const std::string& address,
                          absl::Time now);

}  // namespace muster::ctl

#endif  // MUSTER_TOOLS_MUSTERCTL_VIEW_LISTS_H_
