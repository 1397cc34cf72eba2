// Windows on memory seen as windows on a contiguous array: what the derivatives of views and of writes through them
// are stated in.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/base/shape.h"

namespace tandem {

/// A strided window of a contiguous array; offset and strides count its elements.
struct Geometry {
  Dims shape;
  Dims strides;
  std::int64_t offset = 0;
};

/// The record's attributes (int[] size, int[] stride, int offset) of a window.
std::vector<std::int64_t> windowAttrs(const Geometry& g);
/// The dims of (shape, strides) from the outermost in memory to the innermost.
Dims memoryOrder(DimsRef shape, DimsRef strides);
/// The window (strides, offset relative to the base's first element) of a base whose dims are in memory order, as a
/// window of a contiguous array of the base's shape.
Geometry inContiguous(DimsRef baseShape, DimsRef baseStrides, DimsRef shape, DimsRef strides, std::int64_t offset);
/// Is every place of the window (strides, offset relative to the base's first element) an element of the base, whose
/// dims are in memory order?
bool liesWithin(DimsRef baseShape, DimsRef baseStrides, DimsRef shape, DimsRef strides, std::int64_t offset);
/// May two places of the window be the same element?
bool mayOverlap(const Geometry& g);

}  // namespace tandem
