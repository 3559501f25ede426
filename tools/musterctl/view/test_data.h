#ifndef MUSTER_TOOLS_MUSTERCTL_VIEW_TEST_DATA_H_
#define MUSTER_TOOLS_MUSTERCTL_VIEW_TEST_DATA_H_

#include <string>

#include "absl/time/time.h"
#include "proto/ctl.pb.h"

namespace muster::ctl {

// A job of three nodes that lost one in generation 1 and runs on two in generation 2, at noon of some day.
absl::Time Noon();
v1::JobDetail SomeDetail();
// The same as `watch` sees it.
v1::JobSnapshot SomeSnapshot();

// Compares with tools/musterctl/view/testdata/<name>. With MUSTER_GOLDEN_OUT set to a folder it writes what it got
// there.
void ExpectGolden(const std::string& name, const std::string& got);

}  // namespace muster::ctl

#endif  // MUSTER_TOOLS_MUSTERCTL_VIEW_TEST_DATA_H_
