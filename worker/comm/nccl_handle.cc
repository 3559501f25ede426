#include "worker/comm/nccl_handle.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/status_macros.h"
#include "worker/comm/nccl_errors.h"

namespace muster::worker {
namespace {

// Polls in a row before each pauses: most collectives are over within them.
constexpr int kSpins = 20'000;
constexpr absl::Duration kPause = absl::Microseconds(200);

// For the last messages on the network when all is well.
constexpr absl::Duration kFinalizePatience = absl::Seconds(5);
// For a call of NCCL's that should return at once; aborting does not wait for it any longer.
constexpr std::chrono::seconds kCallPatience(1);

}  // namespace

absl::StatusOr<std::unique_ptr<NcclHandle>> NcclHandle::Create(const NcclApi* api, const ncclUniqueId& id, int rank,
                                                               int size, absl::Duration timeout) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t comm = nullptr;
  MUSTER_RETURN_IF_ERROR(NcclStatus(api->comm_init(&comm, size, id, rank, &config), "connecting"));
  std::unique_ptr<NcclHandle> handle(new NcclHandle(api, comm));
  handle->aborter_ = std::thread([h = handle.get()] { h->RunAborter(); });
  const absl::Time deadline = Clock::Real()->Now() + timeout;
  MUSTER_RETURN_IF_ERROR(handle->Poll("connecting", deadline, [] { return true; }));
  return handle;
}

NcclHandle::~NcclHandle() {
  ncclComm_t comm = nullptr;
  {
    std::lock_guard<std::mutex> lock(mu_);
    if (!abort_wanted_) comm = comm_;
  }
  if (comm != nullptr) {
    const absl::Time deadline = Clock::Real()->Now() + kFinalizePatience;
    absl::Status s = NcclStatus(api_->comm_finalize(comm), "closing");
    if (s.ok()) s = Poll("closing", deadline, [] { return true; });
    if (s.ok()) {
      std::lock_guard<std::mutex> lock(mu_);
      if (comm_ != nullptr && !abort_wanted_) api_->comm_destroy(comm_);
      comm_ = nullptr;
    } else {
      Abort();
    }
  }
  {
    std::lock_guard<std::mutex> lock(mu_);
    closing_ = true;
    cv_.notify_all();
  }
  if (aborter_.joinable()) aborter_.join();
}

void NcclHandle::RunAborter() {
  std::unique_lock<std::mutex> lock(mu_);
  Clock::Real()->WaitUntil(lock, cv_, absl::InfiniteFuture(), [&] { return closing_ || abort_wanted_; });
  if (!abort_wanted_ || comm_ == nullptr) return;
  ncclComm_t const comm = comm_;
  comm_ = nullptr;
  lock.unlock();
  const bool alone = nccl_mu_.try_lock_for(kCallPatience);
  api_->comm_abort(comm);
  if (alone) nccl_mu_.unlock();
}

void NcclHandle::Abort() {
  std::lock_guard<std::mutex> lock(mu_);
  aborted_ = abort_wanted_ = true;
  cv_.notify_all();
}

absl::Status NcclHandle::Fail(const absl::Status& status) {
  std::lock_guard<std::mutex> lock(mu_);
  if (aborted_) return absl::CancelledError("aborted");
  if (failed_.ok()) failed_ = status;
  abort_wanted_ = true;
  cv_.notify_all();
  return failed_;
}

absl::Status NcclHandle::Poll(absl::string_view what, absl::Time deadline,
                              const std::function<absl::StatusOr<bool>()>& done) {
  Clock* const clock = Clock::Real();
  for (int spins = 0;; ++spins) {
    {
      std::unique_lock<std::timed_mutex> nccl(nccl_mu_);
      ncclComm_t comm;
      {
        std::lock_guard<std::mutex> lock(mu_);
        if (aborted_) return absl::CancelledError("aborted");
        if (!failed_.ok()) return failed_;
        comm = comm_;
      }
      ncclResult_t state = ncclSuccess;
      absl::Status s = NcclStatus(api_->async_error(comm, &state), what);
      if (s.ok()) s = NcclStatus(state, what);
      absl::StatusOr<bool> over = false;
      if (s.ok() && state == ncclSuccess) {
        over = done();
        s = over.status();
      }
      if (!s.ok()) return Fail(s);
      if (*over) return absl::OkStatus();
    }
    if (clock->Now() >= deadline) {
      return Fail(absl::DeadlineExceededError(absl::StrCat("not all peers answered in ", what)));
    }
    if (spins < kSpins) continue;
    std::unique_lock<std::mutex> lock(mu_);
    clock->WaitUntil(lock, cv_, clock->Now() + kPause, [&] { return abort_wanted_; });
  }
}

absl::Status NcclHandle::Run(absl::string_view what, absl::Time deadline, cudaStream_t stream,
                             const std::function<absl::Status(ncclComm_t)>& enqueue) {
  absl::Status s;
  {
    std::unique_lock<std::timed_mutex> nccl(nccl_mu_);
    ncclComm_t comm;
    {
      std::lock_guard<std::mutex> lock(mu_);
      if (aborted_) return absl::CancelledError("aborted");
      if (!failed_.ok()) return failed_;
      comm = comm_;
    }
    s = enqueue(comm);
  }
  if (!s.ok()) return Fail(s);
  return Poll(what, deadline, [&]() -> absl::StatusOr<bool> {
    const cudaError_t error = cudaStreamQuery(stream);
    if (error == cudaErrorNotReady) return false;
    MUSTER_RETURN_IF_ERROR(CudaStatus(error, what));
    return true;
  });
}

}  // namespace muster::worker
