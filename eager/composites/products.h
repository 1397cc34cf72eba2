// Products of matrices to which something is added: those of half types are made in float32 for it, and what is added
// is rounded once.
#pragma once

#include "eager/tensor.h"

namespace tandem::ops {

/// matmul, mm and bmm; of half types in float32 if `wide`, or rounded after `bias`, if defined, was added (biasOf).
Tensor matmulFor(const Tensor& a, const Tensor& b, bool wide, const Tensor& bias = {});
Tensor mmFor(const Tensor& a, const Tensor& b, bool wide, const Tensor& bias = {});
Tensor bmmFor(const Tensor& a, const Tensor& b, bool wide, const Tensor& bias = {});

/// `x`, which is to be added to the product of half types a and b, as a number for each column: where it is that, and
/// the products of their device add it. Else undefined.
Tensor biasOf(const Tensor& a, const Tensor& b, const Tensor& x);

/// `product + x`, where that was computed for this alone; if it is wider than `dtype`, x is widened for it, and the sum
/// rounded.
Tensor sumOver(const Tensor& product, const Tensor& x, DType dtype);

}  // namespace tandem::ops
