#ifndef MUSTER_TESTS_SIM_MESH_H_
#define MUSTER_TESTS_SIM_MESH_H_

#include <cstdint>
#include <map>
#include <string>

#include "tests/sim/sim_agent.h"
#include "tests/sim/world.h"

namespace muster::sim {

// The workers of one generation of a native job, as they are bound together by their collectives: they step in
// lockstep, save at the same steps, stop at the same step, and lose each other.
class Mesh {
 public:
  // A worker got all blobs.
  static void Join(World* world, SimAgent* agent, const SimAgent::Key& key);

 private:
  struct Member {
    SimAgent* agent;
    SimAgent::Key key;
  };

  explicit Mesh(World* world) : world_(world) {}
  void Add(SimAgent* agent, const SimAgent::Key& key);
  void Step();
  // A member is dead, or its node cut off. The others find out.
  bool Broken() const;
  void LoseEachOther();
  void Save(int64_t step, bool holding);

  World* const world_;
  std::map<int, Member> members_;
  int world_size_ = 0;
  int64_t steps_ = 0;
  int64_t every_ = 0;
  int64_t step_ = 0;
  bool started_ = false;
  bool over_ = false;
};

}  // namespace muster::sim

#endif  // MUSTER_TESTS_SIM_MESH_H_
