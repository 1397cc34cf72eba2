// A number as a tensor.
#pragma once

#include "eager/tensor.h"

namespace tandem {

/// A 0-d tensor on the current device holding `value` (never pending).
Tensor makeScalarTensor(Scalar value, DType dtype);

}  // namespace tandem
