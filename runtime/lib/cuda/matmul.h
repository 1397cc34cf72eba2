// Products of matrices, for what is made of them.
#pragma once

#include "runtime/lib/library.h"

namespace tandem::cuda {

/// c[..., M, N] = a[..., M, K] b[..., K, N] of one dtype, batch dims equal, any strides, c contiguous. Of the sizes
/// depends in which order it adds, not of the strides.
void matrixProduct(const ArrayView& a, const ArrayView& b, const ArrayView& c);

}  // namespace tandem::cuda
