// Shapes and strides: plain lists of int64, with the arithmetic every layer shares. Strides count elements.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "runtime/base/small_vector.h"

namespace tandem {

using Dims = SmallVector<std::int64_t, 6>;
using DimsRef = std::span<const std::int64_t>;

/// Product of the sizes; 1 for a 0-d shape.
std::int64_t numelOf(DimsRef shape);
/// Row-major strides; a size-0 dim counts as 1, as in PyTorch.
Dims contiguousStrides(DimsRef shape);
/// Row-major without gaps. Strides of size-1 dims do not matter; an empty tensor is contiguous.
bool isContiguous(DimsRef shape, DimsRef strides);
/// A dim in [-rank, rank) to [0, rank); a 0-d tensor counts as rank 1. IndexError with PyTorch's text otherwise.
std::int64_t wrapDim(std::int64_t dim, std::int64_t rank);
/// Broadcast of two shapes; Error naming `op` and both shapes where they do not fit.
Dims broadcastShapes(const char* op, DimsRef a, DimsRef b);
/// Strides of a tensor (shape, strides) seen with the broadcast shape `to`: 0 along new and stretched dims.
Dims broadcastStrides(DimsRef shape, DimsRef strides, DimsRef to);
/// Strides for viewing (shape, strides) as `to` without a copy; false where there are none.
bool viewStrides(DimsRef shape, DimsRef strides, DimsRef to, Dims& out);
/// `[2, 3]`.
std::string shapeText(DimsRef shape);

}  // namespace tandem
