// A number as a tensor.
#pragma once

#include "eager/tensor.h"

namespace tandem {

/// A 0-d tensor on the current device holding `value`; pending only if that is a number of the calls that are being
/// recorded.
Tensor makeScalarTensor(Scalar value, DType dtype);

}  // namespace tandem
