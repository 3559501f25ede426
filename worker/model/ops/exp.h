#ifndef MUSTER_WORKER_MODEL_OPS_EXP_H_
#define MUSTER_WORKER_MODEL_OPS_EXP_H_

#include <bit>
#include <cstdint>

#include "worker/model/ops/multiversion.h"

namespace muster::worker::ops {

// e^x to a relative error of about 2e-7, without a branch or a call, so that loops over it become vector code. NaN
// stays NaN; x is taken into [-87, 88], where neither the result nor its inverse is subnormal or infinite.
MUSTER_INLINE float Exp(float x) {
  x = x < -87.0f ? -87.0f : x;
  x = x > 88.0f ? 88.0f : x;
  // e^x = 2^n * e^r with n = round(x / ln 2), |r| <= ln(2) / 2. Adding 1.5 * 2^23 rounds to an integer, which is then
  // in the low bits of the sum. ln 2 in two parts keeps r exact.
  constexpr float kRound = 12582912.0f;
  const float shifted = x * 1.44269504f + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  // Taylor up to r^7: the remainder is below 2^-27.
  float p = 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const uint32_t exponent = (std::bit_cast<uint32_t>(shifted) + 127) << 23;
  return p * std::bit_cast<float>(exponent);
}

}  // namespace muster::worker::ops

#endif  // MUSTER_WORKER_MODEL_OPS_EXP_H_
