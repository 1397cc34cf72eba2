// Products of matrices, for what is made of them.
#pragma once

#include "runtime/lib/library.h"

namespace tandem::cuda {

/// c[..., M, N] = a[..., M, K] b[..., K, N] of one dtype, batch dims equal, any strides, c contiguous. Of the sizes
/// depends in which order it adds, not of the strides. `allowsTf32`: operands of float32 may be rounded to TF32.
/// `bias`: null, or [N] of any stride, which is added before half types are rounded.
void matrixProduct(const ArrayView& a, const ArrayView& b, const ArrayView& c, bool allowsTf32,
                   const ArrayView* bias = nullptr);

/// c[i] = a[i] a[i] for those of contiguous matrices [count, N, N] with `needed[i]`, in the device's memory, above
/// `step`; the others of c are left as they are. By our own kernel.
void squareWhereNeeded(const ArrayView& a, const ArrayView& c, const std::int32_t* needed, std::int64_t step);

}  // namespace tandem::cuda
