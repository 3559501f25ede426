#ifndef MUSTER_WORKER_MODEL_OPS_TESTING_H_
#define MUSTER_WORKER_MODEL_OPS_TESTING_H_

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace muster::worker::ops {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

// What outputs hold before an operation sets them: one that reads or skips an element shows.
inline Floats Poisoned(int64_t size) { return Floats(size, std::numeric_limits<float>::quiet_NaN()); }

// Fresh for each seed: normal with the deviation.
inline Floats Random(int64_t size, uint32_t seed, float deviation = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, deviation);
  Floats values(size);
  for (float& value : values) value = normal(random);
  return values;
}

inline Doubles ToDoubles(const Floats& values) { return {values.begin(), values.end()}; }

// |actual - expected| <= tolerance * (1 + |expected|) for all elements.
template <typename Expected>
void ExpectNear(const Floats& actual, const Expected& expected, double tolerance, const char* what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (size_t i = 0; i < actual.size(); ++i) {
    // Not >: a NaN must not pass.
    ASSERT_TRUE(std::abs(actual[i] - expected[i]) <= tolerance * (1 + std::abs(expected[i])))
        << what << "[" << i << "] is " << actual[i] << ", expected " << expected[i];
  }
}

// The gradient of f at x by central differences in fp64.
inline Doubles FiniteDifferences(Doubles x, const std::function<double(const Doubles&)>& f) {
  constexpr double kStep = 1e-5;
  Doubles gradient(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double at = x[i];
    x[i] = at + kStep;
    const double above = f(x);
    x[i] = at - kStep;
    gradient[i] = (above - f(x)) / (2 * kStep);
    x[i] = at;
  }
  return gradient;
}

inline double Dot(const Doubles& a, const Floats& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// a + b, for gradients that are added to what was there.
inline Doubles Plus(const Doubles& a, const Floats& b) {
  Doubles sum = a;
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += b[i];
  return sum;
}

}  // namespace muster::worker::ops

#endif  // MUSTER_WORKER_MODEL_OPS_TESTING_H_
