#ifndef MUSTER_WORKER_MODEL_RANDOM_H_
#define MUSTER_WORKER_MODEL_RANDOM_H_

#include <cstdint>

namespace muster::worker {

// 64 random bits that are a pure function of their place: no generator has a state that a checkpoint would have to
// keep. Three rounds of SplitMix64's finalizer (Steele, Lea and Flood, 2014).
inline uint64_t RandomBitsAt(uint64_t seed, uint64_t stream, uint64_t index) {
  const auto mix = [](uint64_t x) {
    x += 0x9E3779B97F4A7C15;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
  };
  return mix(mix(mix(seed) ^ stream) ^ index);
}

}  // namespace muster::worker

#endif  // MUSTER_WORKER_MODEL_RANDOM_H_
