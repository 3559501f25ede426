#include <cuda_runtime.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/status_macros.h"
#include "worker/comm/arguments.h"
#include "worker/comm/nccl.h"
#include "worker/comm/nccl_api.h"
#include "worker/comm/nccl_convert.h"
#include "worker/comm/nccl_errors.h"
#include "worker/comm/nccl_handle.h"

namespace muster::worker {
namespace {

// fp32 elements of scratch for sums of bfloat16.
constexpr int64_t kScratch = int64_t{8} << 20;

ncclDataType_t TypeOf(DataType type) {
  switch (type) {
    case DataType::kFloat32:
      return ncclFloat32;
    case DataType::kBfloat16:
      return ncclBfloat16;
    case DataType::kInt64:
      return ncclInt64;
    case DataType::kByte:
      return ncclUint8;
  }
  return ncclUint8;
}

class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(const CommOptions& options, int device, const NcclApi* api)
      : rank_(options.rank), size_(options.size), timeout_(options.timeout), device_(device), api_(api) {}

  absl::Status Open(const ncclUniqueId& id, absl::Duration connect_timeout) {
    MUSTER_RETURN_IF_ERROR(CudaStatus(cudaSetDevice(device_), absl::StrCat("choosing GPU ", device_)));
    MUSTER_RETURN_IF_ERROR(CudaStatus(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream"));
    MUSTER_RETURN_IF_ERROR(CudaStatus(cudaMalloc(&mark_, 1), "allocating"));
    MUSTER_ASSIGN_OR_RETURN(handle_, NcclHandle::Create(api_, id, rank_, size_, connect_timeout));
    return absl::OkStatus();
  }

  ~NcclCommunicator() override {
    // Before the stream: aborting it is what ends a kernel that hangs there.
    handle_.reset();
    if (scratch_ != nullptr) cudaFree(scratch_);
    if (mark_ != nullptr) cudaFree(mark_);
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  absl::Status AllReduceSum(Buffer inout) override {
    MUSTER_RETURN_IF_ERROR(CheckAllReduce(inout));
    if (inout.type == DataType::kBfloat16) return AllReduceBfloat16(inout);
    return Run("all-reduce", [&](ncclComm_t comm) {
      return Nccl(api_->all_reduce(inout.data, inout.data, inout.count, TypeOf(inout.type), ncclSum, comm, stream_));
    });
  }

  absl::Status ReduceScatterSum(ConstBuffer in, Buffer out) override {
    MUSTER_RETURN_IF_ERROR(CheckReduceScatter(in, out, size_));
    if (in.type == DataType::kBfloat16) return ReduceScatterBfloat16(in, out);
    return Run("reduce-scatter", [&](ncclComm_t comm) {
      return Nccl(api_->reduce_scatter(in.data, out.data, out.count, TypeOf(in.type), ncclSum, comm, stream_));
    });
  }

  absl::Status AllGather(ConstBuffer in, Buffer out) override {
    MUSTER_RETURN_IF_ERROR(CheckAllGather(in, out, size_));
    return Run("all-gather", [&](ncclComm_t comm) {
      return Nccl(api_->all_gather(in.data, out.data, in.count, TypeOf(in.type), comm, stream_));
    });
  }

  absl::Status Broadcast(Buffer inout, int root) override {
    MUSTER_RETURN_IF_ERROR(CheckBroadcast(inout, root, size_));
    return Run("broadcast", [&](ncclComm_t comm) {
      return Nccl(api_->broadcast(inout.data, inout.data, inout.count, TypeOf(inout.type), root, comm, stream_));
    });
  }

  absl::Status Barrier() override {
    return Run("barrier", [&](ncclComm_t comm) {
      return Nccl(api_->all_reduce(mark_, mark_, 1, ncclUint8, ncclSum, comm, stream_));
    });
  }

  void Abort() override { handle_->Abort(); }

 private:
  static absl::Status Nccl(ncclResult_t result) { return NcclStatus(result, "starting a collective"); }

  absl::Status Run(absl::string_view what, const std::function<absl::Status(ncclComm_t)>& enqueue) {
    MUSTER_RETURN_IF_ERROR(CudaStatus(cudaSetDevice(device_), what));
    // What fills the buffers may run on any stream of this thread's.
    MUSTER_RETURN_IF_ERROR(CudaStatus(cudaStreamSynchronize(cudaStreamPerThread), what));
    MUSTER_RETURN_IF_ERROR(CudaStatus(cudaStreamSynchronize(cudaStreamLegacy), what));
    return handle_->Run(what, Clock::Real()->Now() + timeout_, stream_, enqueue);
  }

  absl::Status NeedScratch() {
    if (scratch_ != nullptr) return absl::OkStatus();
    return CudaStatus(cudaMalloc(reinterpret_cast<void**>(&scratch_), kScratch * sizeof(float)), "allocating scratch");
  }

  // NCCL adds bfloat16 in bfloat16, so these go through fp32, a piece at a time.
  absl::Status AllReduceBfloat16(Buffer inout) {
    MUSTER_RETURN_IF_ERROR(NeedScratch());
    auto* const data = static_cast<uint16_t*>(inout.data);
    for (int64_t begin = 0; begin == 0 || begin < inout.count; begin += kScratch) {
      const int64_t n = std::min(kScratch, inout.count - begin);
      MUSTER_RETURN_IF_ERROR(Run("all-reduce", [&](ncclComm_t comm) {
        MUSTER_RETURN_IF_ERROR(CudaStatus(WidenBfloat16(data + begin, scratch_, n, stream_), "widening"));
        return Nccl(api_->all_reduce(scratch_, scratch_, n, ncclFloat32, ncclSum, comm, stream_));
      }));
      MUSTER_RETURN_IF_ERROR(Narrow(scratch_, data + begin, n));
    }
    return absl::OkStatus();
  }

  absl::Status ReduceScatterBfloat16(ConstBuffer in, Buffer out) {
    MUSTER_RETURN_IF_ERROR(NeedScratch());
    const auto* const from = static_cast<const uint16_t*>(in.data);
    const int64_t piece = std::max<int64_t>(1, kScratch / size_);
    for (int64_t begin = 0; begin == 0 || begin < out.count; begin += piece) {
      const int64_t n = std::min(piece, out.count - begin);
      float* const sum = scratch_ + rank_ * n;
      MUSTER_RETURN_IF_ERROR(Run("reduce-scatter", [&](ncclComm_t comm) {
        for (int r = 0; r < size_; ++r) {
          MUSTER_RETURN_IF_ERROR(
              CudaStatus(WidenBfloat16(from + r * out.count + begin, scratch_ + r * n, n, stream_), "widening"));
        }
        return Nccl(api_->reduce_scatter(scratch_, sum, n, ncclFloat32, ncclSum, comm, stream_));
      }));
      MUSTER_RETURN_IF_ERROR(Narrow(sum, static_cast<uint16_t*>(out.data) + begin, n));
    }
    return absl::OkStatus();
  }

  // After a finished collective, so nothing on the stream can hang.
  absl::Status Narrow(const float* from, uint16_t* to, int64_t count) {
    MUSTER_RETURN_IF_ERROR(CudaStatus(NarrowToBfloat16(from, to, count, stream_), "narrowing"));
    return CudaStatus(cudaStreamSynchronize(stream_), "narrowing");
  }

  const int rank_;
  const int size_;
  const absl::Duration timeout_;
  const int device_;
  const NcclApi* const api_;
  cudaStream_t stream_ = nullptr;
  void* mark_ = nullptr;
  float* scratch_ = nullptr;
  std::unique_ptr<NcclHandle> handle_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Communicator>> NewNcclCommunicator(const CommOptions& options, int device,
                                                                  const ExchangeFn& exchange) {
  MUSTER_ASSIGN_OR_RETURN(const NcclApi* const api, NcclApi::Get());
  ncclUniqueId id = {};
  if (options.rank == 0) MUSTER_RETURN_IF_ERROR(NcclStatus(api->get_unique_id(&id), "making an id"));
  MUSTER_ASSIGN_OR_RETURN(const std::vector<std::string> blobs,
                          exchange(std::string(id.internal, sizeof(id.internal))));
  if (static_cast<int>(blobs.size()) != options.size || blobs[0].size() != sizeof(id.internal)) {
    return absl::InternalError("the rendezvous gave no NCCL id; do all workers come from one release?");
  }
  std::memcpy(id.internal, blobs[0].data(), sizeof(id.internal));
  auto comm = std::make_unique<NcclCommunicator>(options, device, api);
  MUSTER_RETURN_IF_ERROR(comm->Open(id, options.connect_timeout));
  return std::unique_ptr<Communicator>(std::move(comm));
}

std::string WhyNoNccl() {
  if (const auto api = NcclApi::Get(); !api.ok()) return std::string(api.status().message());
  int devices = 0;
  if (const absl::Status s = CudaStatus(cudaGetDeviceCount(&devices), "looking for GPUs"); !s.ok()) {
    return std::string(s.message());
  }
  return devices > 0 ? "" : "this machine has no GPU";
}

}  // namespace muster::worker
