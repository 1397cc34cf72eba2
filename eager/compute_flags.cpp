#include "eager/compute_flags.h"

#include "eager/ops.h"

namespace tandem {

constinit std::atomic<ComputeFlags> currentComputeFlags;
thread_local constinit ScopedComputeFlags scopedComputeFlags;

Tensor matrixProduct(const Tensor& a, const Tensor& b, bool wide, const Tensor& bias) {
  return ops::matmul_plain(a, b, productsAllowTf32(a), wide && !bias.defined(), bias);
}

}  // namespace tandem
