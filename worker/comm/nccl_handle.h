#ifndef MUSTER_WORKER_COMM_NCCL_HANDLE_H_
#define MUSTER_WORKER_COMM_NCCL_HANDLE_H_

#include <cuda_runtime.h>
#include <nccl.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "worker/comm/nccl_api.h"

namespace muster::worker {

// A non-blocking ncclComm_t, and the thread that aborts it. NCCL tells of no peer that was killed on the same host, and
// a kernel that waits for one never ends; so every wait polls, and aborting never stands behind the call that hangs.
class NcclHandle {
 public:
  static absl::StatusOr<std::unique_ptr<NcclHandle>> Create(const NcclApi* api, const ncclUniqueId& id, int rank,
                                                            int size, absl::Duration timeout);
  NcclHandle(const NcclHandle&) = delete;
  NcclHandle& operator=(const NcclHandle&) = delete;
  ~NcclHandle();

  // Enqueues with `enqueue` on `stream` and waits until the stream is done. The first error aborts.
  absl::Status Run(absl::string_view what, absl::Time deadline, cudaStream_t stream,
                   const std::function<absl::Status(ncclComm_t)>& enqueue);
  // As Communicator::Abort.
  void Abort();

 private:
  NcclHandle(const NcclApi* api, ncclComm_t comm) : api_(api), comm_(comm) {}
  // Until NCCL has finished what it was asked for, and `done`.
  absl::Status Poll(absl::string_view what, absl::Time deadline, const std::function<absl::StatusOr<bool>()>& done);
  absl::Status Fail(const absl::Status& status);
  void RunAborter();

  const NcclApi* const api_;

  // Around each call of NCCL's, all of which return soon.
  std::timed_mutex nccl_mu_;

  std::mutex mu_;
  std::condition_variable cv_;
  ncclComm_t comm_ ABSL_GUARDED_BY(mu_);
  bool aborted_ ABSL_GUARDED_BY(mu_) = false;
  bool abort_wanted_ ABSL_GUARDED_BY(mu_) = false;
  bool closing_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status failed_ ABSL_GUARDED_BY(mu_);

  std::thread aborter_;
};

}  // namespace muster::worker

#endif  // MUSTER_WORKER_COMM_NCCL_HANDLE_H_
