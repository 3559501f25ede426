#ifndef MUSTER_TESTS_SIM_SHARED_DISK_H_
#define MUSTER_TESTS_SIM_SHARED_DISK_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace muster::sim {

// The checkpoint folders that all nodes see, as far as the protocol is about them.
class SharedDisk {
 public:
  // A rank's shard, in step-N.tmp-<generation>.
  void Save(const std::string& job, int64_t step, uint64_t generation, int rank) {
    shards_.insert({job, step, generation, rank});
  }
  bool HasAllShards(const std::string& job, int64_t step, uint64_t generation, int world_size) const {
    for (int rank = 0; rank < world_size; ++rank) {
      if (shards_.count({job, step, generation, rank}) == 0) return false;
    }
    return true;
  }

  // False: the save is not there. Done again: true.
  bool Publish(const std::string& job, int64_t step, uint64_t generation, int world_size) {
    if (IsPublished(job, step)) return true;
    if (!HasAllShards(job, step, generation, world_size)) return false;
    published_[{job, step}] = generation;
    return true;
  }
  bool IsPublished(const std::string& job, int64_t step) const { return published_.count({job, step}) > 0; }
  void Remove(const std::string& job, int64_t step) { published_.erase({job, step}); }
  bool HasAny(const std::string& job) const {
    auto it = published_.lower_bound({job, 0});
    return it != published_.end() && it->first.first == job;
  }

  // What older generations saved and did not publish.
  void RemoveAbandoned(const std::string& job, uint64_t generation) {
    for (auto it = shards_.begin(); it != shards_.end();) {
      const bool old = std::get<0>(*it) == job && std::get<2>(*it) < generation;
      it = old ? shards_.erase(it) : std::next(it);
    }
  }

 private:
  std::set<std::tuple<std::string, int64_t, uint64_t, int>> shards_;
  std::map<std::pair<std::string, int64_t>, uint64_t> published_;
};

}  // namespace muster::sim

#endif  // MUSTER_TESTS_SIM_SHARED_DISK_H_
