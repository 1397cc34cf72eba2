// Which indices an operation takes, and the errors of those that are out of range, the same on every device.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/dtype.h"
#include "runtime/base/error.h"
#include "runtime/base/shape.h"

namespace tandem::lib {

/// How an operation reads indices, and how it says that one is out of range.
enum class IndexRange {
  Wrapped,   // negative ones count from the end; IndexError
  Elements,  // from 0 on; RuntimeError
  Slices,    // from 0 on; IndexError
  Flat,      // as Wrapped; the dim is all elements of a tensor
};

/// The least index of a dim of `size` elements.
constexpr std::int64_t leastIndex(IndexRange range, std::int64_t size) {
  return range == IndexRange::Wrapped || range == IndexRange::Flat ? -size : 0;
}

/// May indices into `n` dims from `first` on be any numbers, as no element is read or written? Not into a dim without
/// elements, where every index is out of range.
inline bool anyIndexServes(DimsRef shape, std::int64_t first, std::size_t n, std::int64_t elements) {
  const auto indexed = shape.subspan(static_cast<std::size_t>(first), n);
  return elements == 0 && std::ranges::find(indexed, 0) == indexed.end();
}

/// The error of the index `v`, as the program gave it.
[[noreturn]] inline void failIndex(std::string_view op, IndexRange range, std::int64_t v, std::int64_t dim,
                                   std::int64_t size) {
  if (range == IndexRange::Flat)
    fail<IndexError>("out of range: tried to access index ", v, " on a tensor of ", size, " elements.");
  const std::string text = strcat("index ", v, " is out of bounds for dimension ", dim, " with size ", size);
  if (range == IndexRange::Elements) fail(op, ": ", text);
  if (range == IndexRange::Slices) fail<IndexError>("index out of range in self (", op, ": ", text, ")");
  fail<IndexError>(op, ": ", text);
}
/// The error of indices that are no integers.
[[noreturn]] inline void failIndexType(std::string_view op, DType t) {
  fail<IndexError>(op, ": tensors used as indices must be integers, got ", dtypeName(t));
}
/// The error of the class `v` of a loss's target.
[[noreturn]] inline void failClass(std::int64_t v) { fail<IndexError>("Target ", v, " is out of bounds."); }

}  // namespace tandem::lib
