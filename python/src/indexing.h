// What indexing shares with the methods that do the same by another name.
#pragma once

#include <vector>

#include "eager/tensor.h"

namespace tandem::python {

/// Where elements are nonzero, one int64 column a dim, in row-major order.
std::vector<Tensor> nonzeroColumns(const Tensor& t);

/// Advanced indexing by one tensor or nothing (undefined) a dim; masks are already columns of integers.
Tensor indexByTensors(const Tensor& t, std::vector<Tensor> indices);
void assignByTensors(const Tensor& t, std::vector<Tensor> indices, const Tensor& values, bool accumulate);

}  // namespace tandem::python
