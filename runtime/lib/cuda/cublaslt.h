// Products of matrices by cuBLASLt, which is found when the first product needs it: $TANDEM_CUBLASLT, else
// libcublasLt.so.13 or .12 in the system or in the wheel nvidia-cublas. The declarations are our own.
//
// The algorithm of a product is a function of its sizes, dtypes and device, of whether it may round to TF32 and of
// whether a bias is added: cuBLASLt is asked once, for contiguous operands, and for algorithms that add in a fixed
// order. Other layouts are multiplied by the same algorithm where it takes them, so that they have the same bits, and
// are made contiguous where it does not.
#pragma once

#include "runtime/lib/library.h"

namespace tandem::cuda {

/// c[..., M, N] = a[..., M, K] b[..., K, N], batch dims equal, no size 0, c contiguous. Floating dtypes; half types are
/// added up in float32, which c may be then, and float32 is multiplied as it is unless `allowsTf32`. `bias`: null, or
/// [N] of c's dtype, which is added to the sums before they are rounded. False, and nothing is queued, for what
/// cuBLASLt does not have, or where it is missing.
bool cublasltProduct(const ArrayView& a, const ArrayView& b, const ArrayView& c, bool allowsTf32,
                     const ArrayView* bias);

}  // namespace tandem::cuda
