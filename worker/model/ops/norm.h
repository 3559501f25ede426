#ifndef MUSTER_WORKER_MODEL_OPS_NORM_H_
#define MUSTER_WORKER_MODEL_OPS_NORM_H_

#include <cstdint>

#include "worker/model/ops/thread_pool.h"

namespace muster::worker::ops {

// The sum of the squares of x[n]. The same bits for any number of threads; not finite if an element is not, or is so
// large that its square is not.
double SumOfSquares(ThreadPool& pool, int64_t n, const float* x);

}  // namespace muster::worker::ops

#endif  // MUSTER_WORKER_MODEL_OPS_NORM_H_
