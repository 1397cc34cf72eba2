// What the composites of linear algebra share: checks of matrices, their batches.
#pragma once

#include "eager/tensor.h"

namespace tandem::ops {

/// At least two dims, float32 or float64 (Error; `argument` is how the operation calls it); square, too.
void needMatrices(const char* op, const Tensor& x, const char* argument);
void needSquare(const char* op, const Tensor& x, const char* argument);
/// Identities of the shape and dtype of the square matrices x.
Tensor identityLike(const Tensor& x);
/// The dims before the last two.
Dims batchOf(const Tensor& x);
/// The matrices x with these dims before them.
Tensor expandBatch(const Tensor& x, const Dims& batch);
/// 0, or the place (from 1) of the first zero pivot of each of the matrices whose LU factors these are; int32.
Tensor zeroPivotOf(const Tensor& lu);
/// The singular values of matrices x, descending.
Tensor singularValuesOf(const Tensor& x);

}  // namespace tandem::ops
