// Index operands: read in row-major order, all checked before anything is written.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "runtime/lib/indexing/index_range.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {

/// The values of an integer tensor in row-major order, each in [0, size): the tensor's own memory where that has them,
/// else a copy. Throws an error naming the operation, the first index out of range, the dim and its size.
class IndexList {
 public:
  IndexList(const char* op, const ArrayView& index, std::int64_t dim, std::int64_t size, IndexRange range);
  std::int64_t count() const { return count_; }
  std::int64_t operator[](std::int64_t i) const { return values_[i]; }
  const std::int64_t* data() const { return values_; }
  /// How much more each value is than the one before, where that is one number, and was looked at.
  std::optional<std::int64_t> step() const { return step_; }

 private:
  std::int64_t count_;
  std::optional<std::int64_t> step_;
  const std::int64_t* values_ = nullptr;
  std::optional<Scratch<std::int64_t>> copy_;
};

/// The integers [begin, begin + n) of a contiguous index: their memory, or `buffer`, to which they are widened.
const std::int64_t* indicesAt(const ArrayView& index, std::int64_t begin, std::int64_t n, std::int64_t* buffer);
/// Calls each(integers, first, n) for stretches [first, first + n) of those in [begin, end).
template <class F>
void forStretches(const ArrayView& index, std::int64_t begin, std::int64_t end, F each) {
  std::array<std::int64_t, 512> buffer;
  for (std::int64_t n = 0; begin < end; begin += n) {
    n = std::min(static_cast<std::int64_t>(buffer.size()), end - begin);
    each(indicesAt(index, begin, n, buffer.data()), begin, n);
  }
}
/// Are those in [0, size)?
bool indicesInside(const ArrayView& index, std::int64_t begin, std::int64_t n, std::int64_t size);

/// How much more each of n numbers is than the one before, if that is one number for all.
std::optional<std::int64_t> stepOf(const std::int64_t* values, std::int64_t n);

}  // namespace tandem::lib
