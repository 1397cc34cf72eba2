// What several rules share: windows on contiguous arrays, as differentiable operations.
#pragma once

#include "autograd/geometry.h"
#include "eager/tensor.h"

namespace tandem::rules {

/// The window of `t`, seen as a contiguous array.
Tensor windowOf(const Tensor& t, const Geometry& window);
/// Zeros of `baseShape` with `value` in the window: its transpose. Values that fall on one element are added.
Tensor intoWindow(DimsRef baseShape, const Tensor& value, const Geometry& window);
/// Zeros to add to: one number, which the sum copies to where it lies.
Tensor zerosToAddTo(DimsRef shape, DType dtype);
/// `shape` with `dims` set to 1.
Dims keptShape(DimsRef shape, DimsRef dims);

}  // namespace tandem::rules
