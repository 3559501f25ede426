#ifndef MUSTER_TESTS_SIM_RANDOM_H_
#define MUSTER_TESTS_SIM_RANDOM_H_

#include <cstdint>

#include "absl/time/time.h"

namespace muster::sim {

// splitmix64 (Steele et al., 2014): the same numbers for a seed on every machine and library.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  // 0 to n - 1.
  int Below(int n) { return static_cast<int>(Next() % static_cast<uint64_t>(n)); }
  // `per_mille` times in a thousand.
  bool Chance(int per_mille) { return Below(1000) < per_mille; }
  absl::Duration Between(absl::Duration low, absl::Duration high) {
    const int64_t range = absl::ToInt64Microseconds(high - low);
    return low + absl::Microseconds(static_cast<int64_t>(Next() % static_cast<uint64_t>(range + 1)));
  }

 private:
  uint64_t state_;
};

}  // namespace muster::sim

#endif  // MUSTER_TESTS_SIM_RANDOM_H_
