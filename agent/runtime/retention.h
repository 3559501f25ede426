#ifndef MUSTER_AGENT_RUNTIME_RETENTION_H_
#define MUSTER_AGENT_RUNTIME_RETENTION_H_

#include <deque>
#include <functional>
#include <map>

#include "agent/core/types.h"
#include "agent/runtime/worker_folder.h"

namespace muster::agent {

// Which folders of workers that are over stay: the newest, bounded in number, so that somebody may still look at their
// logs on the node. Those whose log the coordinator does not have yet are kept longer, but not for ever either: a
// coordinator that takes no logs must not fill the node's disk. Not thread-safe.
class Retention {
 public:
  struct Limits {
    size_t shipped = 16;
    size_t unshipped = 64;
  };
  explicit Retention(Limits limits, std::function<void(const WorkerKey&)> on_remove)
      : limits_(limits), on_remove_(std::move(on_remove)) {}

  // The worker is over.
  void Over(const WorkerKey& worker, const WorkerFolder& folder);
  // The coordinator has its log. Before or after Over.
  void Shipped(const WorkerKey& worker, const WorkerFolder& folder);

 private:
  struct Entry {
    WorkerKey worker;
    WorkerFolder folder;
  };
  void Trim(std::deque<Entry>& entries, size_t limit);

  const Limits limits_;
  const std::function<void(const WorkerKey&)> on_remove_;
  std::deque<Entry> shipped_, unshipped_;
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_RUNTIME_RETENTION_H_
