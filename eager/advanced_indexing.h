// Indexing by several tensors at once, as NumPy does: what `x[i, :, j]` reads and writes, and `index_put`.
#pragma once

#include <vector>

#include "eager/tensor.h"

namespace tandem {

/// The elements of `t` at one integer tensor or nothing (undefined) a dim, broadcast together. Where the indexed dims
/// are not adjacent, theirs come first in the result. IndexError for tensors of other dtypes or that do not broadcast.
Tensor indexByTensors(const Tensor& t, std::vector<Tensor> indices);
/// Writes `values`, broadcast and converted, there (or adds them, in order), with history.
void assignByTensors(const Tensor& t, std::vector<Tensor> indices, const Tensor& values, bool accumulate);

}  // namespace tandem
