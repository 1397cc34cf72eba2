// Half types in composites and derivatives: several operations are computed in float32 and rounded once.
#pragma once

#include "eager/helpers.h"

namespace tandem::ops {

/// `x` in float32 if it has a half type, else `x`.
inline Tensor widened(const Tensor& x) { return isHalf(x.dtype()) ? toDType(x, DType::Float32) : x; }

}  // namespace tandem::ops
