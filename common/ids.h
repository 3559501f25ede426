#ifndef MUSTER_COMMON_IDS_H_
#define MUSTER_COMMON_IDS_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace muster {

// A string or number that names one kind of thing and converts to no other. Ordered, so that it can be the key of a
// deterministic container.
template <typename Tag, typename Rep>
class StrongId {
 public:
  StrongId() = default;
  explicit StrongId(Rep value) : value_(std::move(value)) {}

  const Rep& value() const { return value_; }

  friend bool operator==(const StrongId& a, const StrongId& b) { return a.value_ == b.value_; }
  friend bool operator!=(const StrongId& a, const StrongId& b) { return a.value_ != b.value_; }
  friend bool operator<(const StrongId& a, const StrongId& b) { return a.value_ < b.value_; }
  friend std::ostream& operator<<(std::ostream& out, const StrongId& id) { return out << id.value_; }
  template <typename H>
  friend H AbslHashValue(H h, const StrongId& id) {
    return H::combine(std::move(h), id.value_);
  }

 private:
  Rep value_{};
};

// "<name>-<number>", given by the coordinator.
using JobId = StrongId<struct JobIdTag, std::string>;
// Chosen by whoever runs the agent; the host name by default.
using NodeId = StrongId<struct NodeIdTag, std::string>;
// Random, new at each start of an agent.
using Incarnation = StrongId<struct IncarnationTag, std::string>;
// A (re)start of a job's gang. Only grows; 0 is before the first.
using Generation = StrongId<struct GenerationTag, uint64_t>;
// One stream of one agent, in this coordinator process.
using SessionId = StrongId<struct SessionIdTag, uint64_t>;
// One call of a client, in this coordinator process.
using RequestId = StrongId<struct RequestIdTag, uint64_t>;

}  // namespace muster

#endif  // MUSTER_COMMON_IDS_H_
