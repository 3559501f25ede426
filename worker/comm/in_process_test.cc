#include "worker/comm/in_process.h"

#include <thread>

#include "worker/comm/conformance.h"

namespace muster::worker {
namespace {

class InProcessBackend final : public ConformanceBackend {
 public:
  std::vector<std::unique_ptr<Communicator>> NewGroup(int size, absl::Duration timeout) override {
    return NewInProcessGroup(size, timeout);
  }
};

InProcessBackend backend;

INSTANTIATE_TEST_SUITE_P(InProcess, CommunicatorConformance,
                         testing::Values(ConformanceParam{&backend, 1}, ConformanceParam{&backend, 2},
                                         ConformanceParam{&backend, 3}, ConformanceParam{&backend, 4},
                                         ConformanceParam{&backend, 5}),
                         SizeName);

TEST(InProcess, DifferentCollectivesAtOnceAreRefused) {
  auto group = NewInProcessGroup(2);
  float value = 0;
  absl::Status first;
  std::thread other([&] { first = group[0]->Barrier(); });
  EXPECT_TRUE(absl::IsInvalidArgument(group[1]->AllReduceSum({&value, 1})));
  other.join();
  EXPECT_TRUE(absl::IsInvalidArgument(first));
}

}  // namespace
}  // namespace muster::worker
