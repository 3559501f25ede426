#include "agent/runtime/retention.h"

#include <algorithm>

namespace muster::agent {

void Retention::Over(const WorkerKey& worker, const WorkerFolder& folder) {
  WorkerFolder over = folder;
  if (!over.Marked(WorkerFolder::kOver)) over.Mark(WorkerFolder::kOver);
  (over.Marked(WorkerFolder::kShipped) ? shipped_ : unshipped_).push_back({worker, over});
  Trim(shipped_, limits_.shipped);
  Trim(unshipped_, limits_.unshipped);
}

void Retention::Shipped(const WorkerKey& worker, const WorkerFolder& folder) {
  WorkerFolder shipped = folder;
  shipped.Mark(WorkerFolder::kShipped);
  const auto it =
      std::find_if(unshipped_.begin(), unshipped_.end(), [&](const Entry& e) { return e.worker == worker; });
  if (it == unshipped_.end()) return;
  unshipped_.erase(it);
  shipped_.push_back({worker, shipped});
  Trim(shipped_, limits_.shipped);
}

void Retention::Trim(std::deque<Entry>& entries, size_t limit) {
  while (entries.size() > limit) {
    on_remove_(entries.front().worker);
    entries.front().folder.Remove();
    entries.pop_front();
  }
}

}  // namespace muster::agent
