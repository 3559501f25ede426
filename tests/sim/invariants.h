#ifndef MUSTER_TESTS_SIM_INVARIANTS_H_
#define MUSTER_TESTS_SIM_INVARIANTS_H_

#include <map>
#include <set>
#include <string>

#include "coordinator/core/events.h"
#include "coordinator/core/state.h"
#include "tests/sim/world.h"

namespace muster::sim {

// What must hold whatever happens. Violations go to World::Fail.
class Invariants {
 public:
  explicit Invariants(World* world) : world_(world) {}

  // Just before one Step's effects become durable: `records` is what is durable before them.
  void BeforeCommit(const std::map<std::string, std::string>& records, const coordinator::Effects& effects);
  // A message is about to be sent: all that it tells is durable.
  void BeforeSend(const std::map<std::string, std::string>& records, const v1::CoordinatorMessage& message);
  // A client got an answer.
  void Acknowledged(const v1::JobView& view) { acknowledged_.insert(view.job_id()); }
  // All that was acknowledged is in the records.
  void CheckAcknowledged(const std::map<std::string, std::string>& records);
  // No slot has two workers; no gang has a node that is lost.
  void CheckGangs(const coordinator::State& state);
  // The records tell the same as the state that wrote them.
  void CheckSame(const coordinator::State& live, const coordinator::State& loaded);

 private:
  World* const world_;
  std::set<std::string> acknowledged_;
};

}  // namespace muster::sim

#endif  // MUSTER_TESTS_SIM_INVARIANTS_H_
