#ifndef MUSTER_COORDINATOR_RUNTIME_HELD_EFFECTS_H_
#define MUSTER_COORDINATOR_RUNTIME_HELD_EFFECTS_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "coordinator/core/events.h"
#include "coordinator/storage/state_store.h"

namespace muster::coordinator {

// Effects of several steps that wait for one commit.
class HeldEffects {
 public:
  // In the order of the steps. Acknowledged heartbeats promise nothing durable, so those that no Welcome of their
  // session has to go before are returned, to be sent at once: a store that fails for a while costs no node its lease.
  std::vector<Effects::Send> Add(Effects effects);

  // Whether there is something to commit.
  bool has_writes() const { return !writes_.empty(); }
  bool empty() const { return writes_.empty() && size() == 0; }
  // Effects besides the writes.
  size_t size() const;

  // All the writes, each key once: a later step's put or delete of it wins.
  StateStore::Batch Batch() const;

  // What is to be done now that the batch is durable; its puts and deletes are empty. Nothing is held afterwards.
  Effects Release();

 private:
  std::map<std::string, std::optional<std::string>> writes_;  // no value: deleted
  Effects held_;
  std::set<SessionId> unwelcomed_;
};

}  // namespace muster::coordinator

#endif  // MUSTER_COORDINATOR_RUNTIME_HELD_EFFECTS_H_
