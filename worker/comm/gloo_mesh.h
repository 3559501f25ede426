#ifndef MUSTER_WORKER_COMM_GLOO_MESH_H_
#define MUSTER_WORKER_COMM_GLOO_MESH_H_

#include <gloo/transport/unbound_buffer.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "worker/comm/factory.h"

namespace muster::worker {

// A TCP connection of Gloo's to every other rank, and messages over them. One thread sends and receives; Abort may come
// from any.
class GlooMesh {
 public:
  // One exchange, then connects. INVALID_ARGUMENT: not an address of this machine; DEADLINE_EXCEEDED, UNAVAILABLE:
  // name the peer that could not be reached; INTERNAL: a blob that is none. Errors of `exchange` as they are.
  static absl::StatusOr<std::unique_ptr<GlooMesh>> Connect(const CommOptions& options, const ExchangeFn& exchange);

  GlooMesh(const GlooMesh&) = delete;
  GlooMesh& operator=(const GlooMesh&) = delete;
  ~GlooMesh();

  // Part of the memory that is sent or received.
  struct Region {
    int peer = 0;
    int64_t offset = 0;
    int64_t bytes = 0;
  };

  // Sends and receives regions, and waits for all of them until `deadline`. Between two ranks messages arrive in the
  // order in which they were sent. `what` names the operation in errors: UNAVAILABLE names the ranks that went away,
  // whether they were waited for at that moment or not; DEADLINE_EXCEEDED those that had not answered. An error closes
  // the mesh, so that the peers learn of it too.
  absl::Status Exchange(absl::string_view what, absl::Time deadline, const void* send, absl::Span<const Region> sends,
                        void* recv, absl::Span<const Region> recvs);

  // The calls under way return CANCELLED, and so do later ones; the peers see the connections closed.
  void Abort();

 private:
  class Context;

  explicit GlooMesh(std::shared_ptr<Context> context);
  // Waits for as many completions as there are regions.
  absl::Status WaitAll(absl::string_view what, absl::Time deadline, gloo::transport::UnboundBuffer* buffer, bool send,
                       absl::Span<const Region> regions);
  absl::Status Health();
  // Why a wait was interrupted.
  absl::Status Interrupted();
  // The watch thread: learns of a peer's end also while nothing is expected of it, and ends what then waits in vain.
  void Watch();
  // Closes all connections; gives the error to report.
  absl::Status Fail(absl::Status status);

  const std::shared_ptr<Context> context_;
  // Would receive from each peer what is never sent; so a wait for it ends when one of them goes away.
  std::unique_ptr<gloo::transport::UnboundBuffer> watch_;

  std::mutex mu_;
  std::condition_variable cv_;
  bool aborted_ ABSL_GUARDED_BY(mu_) = false;
  bool closing_ ABSL_GUARDED_BY(mu_) = false;
  // The first error; a mesh that failed stays so.
  absl::Status failed_ ABSL_GUARDED_BY(mu_);
  // What the watch saw.
  absl::Status lost_ ABSL_GUARDED_BY(mu_);
  // The wait under way, and the number of those before.
  gloo::transport::UnboundBuffer* waiting_ ABSL_GUARDED_BY(mu_) = nullptr;
  uint64_t waits_ ABSL_GUARDED_BY(mu_) = 0;

  std::thread watcher_;
};

}  // namespace muster::worker

#endif  // MUSTER_WORKER_COMM_GLOO_MESH_H_
