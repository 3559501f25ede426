#ifndef MUSTER_WORKER_COMM_CONFORMANCE_H_
#define MUSTER_WORKER_COMM_CONFORMANCE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "worker/comm/communicator.h"

namespace muster::worker {

// What the suite needs of an implementation: groups whose ranks are all in this process, and its kind of memory.
class ConformanceBackend {
 public:
  virtual ~ConformanceBackend() = default;
  virtual std::vector<std::unique_ptr<Communicator>> NewGroup(int size, absl::Duration timeout) = 0;
  // Not empty: why the tests cannot run here.
  virtual std::string SkipReason() { return ""; }

  // Whether floats are summed in the order of the ranks.
  virtual bool SumsInRankOrder() { return true; }

  virtual void* Allocate(int64_t bytes) { return std::malloc(bytes); }
  virtual void Free(void* memory) { std::free(memory); }
  virtual void CopyIn(void* to, const void* from, int64_t bytes) { std::memcpy(to, from, bytes); }
  virtual void CopyOut(void* to, const void* from, int64_t bytes) { std::memcpy(to, from, bytes); }
};

struct ConformanceParam {
  ConformanceBackend* backend;
  int size;
};

// INSTANTIATE_TEST_SUITE_P(Gloo, CommunicatorConformance, ...) runs the suite for an implementation.
class CommunicatorConformance : public testing::TestWithParam<ConformanceParam> {
 protected:
  void SetUp() override;
  int size() const { return GetParam().size; }
  ConformanceBackend* backend() const { return GetParam().backend; }
  void NewGroup(absl::Duration timeout = absl::Seconds(60)) { group_ = backend()->NewGroup(size(), timeout); }

  // `fn` on a thread for each rank; the statuses by rank.
  std::vector<absl::Status> OnAllRanks(const std::function<absl::Status(Communicator*)>& fn);

  std::vector<std::unique_ptr<Communicator>> group_;
};

inline std::string SizeName(const testing::TestParamInfo<ConformanceParam>& info) {
  return "World" + std::to_string(info.param.size);
}

}  // namespace muster::worker

#endif  // MUSTER_WORKER_COMM_CONFORMANCE_H_
