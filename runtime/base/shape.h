// Shapes and strides: plain lists of int64, with the arithmetic every layer shares. Strides count elements.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "runtime/base/small_vector.h"

namespace tandem {

using Dims = SmallVector<std::int64_t, 6>;
using DimsRef = std::span<const std::int64_t>;

/// stride * units. Where nobody uses a stride, in a dim of one element or beside a size of 0, it may be of any size:
/// the product wraps.
inline std::int64_t strideTimes(std::int64_t stride, std::int64_t units) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(stride) * static_cast<std::uint64_t>(units));
}
/// Product of the sizes; 1 for a 0-d shape.
inline std::int64_t numelOf(DimsRef shape) {
  std::int64_t n = 1;
  for (auto s : shape) n = strideTimes(n, s);
  return n;
}
/// Row-major strides; a size-0 dim counts as 1, as in PyTorch.
inline Dims contiguousStrides(DimsRef shape) {
  Dims strides = Dims::unset(shape.size());
  std::int64_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step = strideTimes(step, std::max<std::int64_t>(shape[i], 1));
  }
  return strides;
}
/// One past the last element a window reaches, from its own offset.
inline std::int64_t reach(DimsRef shape, DimsRef strides) {
  std::int64_t last = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0) return 0;
    last += (shape[d] - 1) * strides[d];
  }
  return last;
}
/// Row-major without gaps. Strides of size-1 dims do not matter; an empty tensor is contiguous.
inline bool isContiguous(DimsRef shape, DimsRef strides) {
  std::int64_t step = 1;
  bool gap = false;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 0) return true;
    if (shape[i] == 1) continue;
    if (strides[i] != step) gap = true;
    step = strideTimes(step, shape[i]);
  }
  return !gap;
}
/// A dim in [-rank, rank) to [0, rank); a 0-d tensor counts as rank 1. IndexError with PyTorch's text otherwise.
std::int64_t wrapDim(std::int64_t dim, std::int64_t rank);
/// The same where a 0-d tensor has no dims.
std::int64_t existingDim(std::int64_t dim, std::int64_t rank);
/// Broadcast of two shapes; Error naming `op` and both shapes where they do not fit.
Dims broadcastShapes(const char* op, DimsRef a, DimsRef b);
/// Strides of a tensor (shape, strides) seen with the broadcast shape `to`: 0 along new and stretched dims.
Dims broadcastStrides(DimsRef shape, DimsRef strides, DimsRef to);
/// Strides for viewing (shape, strides) as `to` without a copy; false where there are none.
bool viewStrides(DimsRef shape, DimsRef strides, DimsRef to, Dims& out);
/// `[2, 3]`.
std::string shapeText(DimsRef shape);

}  // namespace tandem
