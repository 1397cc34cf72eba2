// What indexing shares with the methods that do the same by another name.
#pragma once

#include <vector>

#include "eager/tensor.h"

namespace tandem::python {

/// Where elements are nonzero, one int64 column a dim, in row-major order.
std::vector<Tensor> nonzeroColumns(const Tensor& t);
/// The elements of `x` where a mask of its leading dims holds: by one index of places in those dims taken as one, not
/// one a dim.
Tensor selectByMask(const Tensor& x, const Tensor& mask);

}  // namespace tandem::python
