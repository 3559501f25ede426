#include "worker/model/ops/matmul.h"

#include <cblas.h>

#include <cstdlib>

namespace muster::worker::ops {
namespace {

// Products are spread over our own threads; OpenBLAS would start one a core, which spin while they wait. It reads the
// variable in a constructor of its own, before which this one runs. (A shared OpenBLAS is earlier still, and starts
// them; UseOneThreadPerProduct then leaves them idle.)
__attribute__((constructor(101))) void StartNoBlasThreads() { setenv("OPENBLAS_NUM_THREADS", "1", /*overwrite=*/1); }

}  // namespace

void MatMul(int64_t m, int64_t n, int64_t k, float alpha, Operand a, Operand b, float beta, float* c, int64_t stride) {
  if (m == 0 || n == 0) return;
  const auto transpose = [](const Operand& x) { return x.transposed ? CblasTrans : CblasNoTrans; };
  cblas_sgemm(CblasRowMajor, transpose(a), transpose(b), static_cast<blasint>(m), static_cast<blasint>(n),
              static_cast<blasint>(k), alpha, a.data, static_cast<blasint>(a.stride), b.data,
              static_cast<blasint>(b.stride), beta, c, static_cast<blasint>(stride));
}

void UseOneThreadPerProduct() { openblas_set_num_threads(1); }

}  // namespace muster::worker::ops
