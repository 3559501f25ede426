// NCCL against the suite that all communicators pass. One rank: NCCL wants a GPU of its own for each.

#include <cuda_runtime.h>

#include "worker/comm/conformance.h"
#include "worker/comm/nccl.h"

namespace muster::worker {
namespace {

class NcclBackend final : public ConformanceBackend {
 public:
  std::string SkipReason() override { return WhyNoNccl(); }
  bool SumsInRankOrder() override { return false; }
  std::vector<std::unique_ptr<Communicator>> NewGroup(int size, absl::Duration timeout) override {
    std::vector<std::unique_ptr<Communicator>> group(size);
    auto comm = NewNcclCommunicator({.rank = 0, .size = size, .timeout = timeout}, 0,
                                    [](const std::string& blob) { return std::vector<std::string>{blob}; });
    EXPECT_TRUE(comm.ok()) << comm.status();
    if (comm.ok()) group[0] = *std::move(comm);
    return group;
  }
  void* Allocate(int64_t bytes) override {
    void* memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, bytes), cudaSuccess);
    return memory;
  }
  void Free(void* memory) override { cudaFree(memory); }
  void CopyIn(void* to, const void* from, int64_t bytes) override { cudaMemcpy(to, from, bytes, cudaMemcpyDefault); }
  void CopyOut(void* to, const void* from, int64_t bytes) override { cudaMemcpy(to, from, bytes, cudaMemcpyDefault); }
};

NcclBackend backend;

INSTANTIATE_TEST_SUITE_P(Nccl, CommunicatorConformance, testing::Values(ConformanceParam{&backend, 1}), SizeName);

}  // namespace
}  // namespace muster::worker
