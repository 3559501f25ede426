#include "worker/comm/sum.h"

#include <algorithm>

namespace muster::worker {
namespace {

// Elements summed at once: small enough for the first-level cache, and what makes `out` safe to be one of the parts:
// a block of it is written only after that block of all parts was read.
constexpr int64_t kBlock = 1024;

struct Same {
  template <typename T>
  static T Load(T value) {
    return value;
  }
  template <typename T>
  static T Store(T value) {
    return value;
  }
};

struct Bfloat16 {
  static float Load(uint16_t value) { return Bfloat16ToFloat(value); }
  static uint16_t Store(float value) { return FloatToBfloat16(value); }
};

template <typename T, typename Sum, typename Convert>
void SumBlocks(absl::Span<const void* const> parts, int64_t count, void* out) {
  Sum sum[kBlock];
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t n = std::min(kBlock, count - begin);
    const T* first = static_cast<const T*>(parts[0]) + begin;
    for (int64_t i = 0; i < n; ++i) sum[i] = Convert::Load(first[i]);
    for (const void* part : parts.subspan(1)) {
      const T* next = static_cast<const T*>(part) + begin;
      for (int64_t i = 0; i < n; ++i) sum[i] += Convert::Load(next[i]);
    }
    T* to = static_cast<T*>(out) + begin;
    for (int64_t i = 0; i < n; ++i) to[i] = Convert::Store(sum[i]);
  }
}

}  // namespace

void SumInOrder(DataType type, absl::Span<const void* const> parts, int64_t count, void* out) {
  switch (type) {
    case DataType::kFloat32:
      return SumBlocks<float, float, Same>(parts, count, out);
    case DataType::kBfloat16:
      return SumBlocks<uint16_t, float, Bfloat16>(parts, count, out);
    case DataType::kInt64:
      // Unsigned, because a signed overflow is undefined.
      return SumBlocks<uint64_t, uint64_t, Same>(parts, count, out);
    case DataType::kByte:
      return SumBlocks<uint8_t, uint8_t, Same>(parts, count, out);
  }
}

}  // namespace muster::worker
