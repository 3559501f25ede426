#ifndef MUSTER_WORKER_COMM_SUM_H_
#define MUSTER_WORKER_COMM_SUM_H_

#include <cstdint>
#include <cstring>

#include "absl/types/span.h"
#include "worker/comm/communicator.h"

namespace muster::worker {

// out[i] = parts[0][i] + parts[1][i] + ..., in that order, `count` elements of `type`. `out` may be one of the parts.
// Floats of either kind are summed in fp32 and rounded once (to nearest, ties to even); integers wrap.
void SumInOrder(DataType type, absl::Span<const void* const> parts, int64_t count, void* out);

inline float Bfloat16ToFloat(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}

inline uint16_t FloatToBfloat16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  // A NaN whose payload lies in the low half must stay a NaN.
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace muster::worker

#endif  // MUSTER_WORKER_COMM_SUM_H_
