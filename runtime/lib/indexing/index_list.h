// Index operands: read in row-major order, all checked before anything is written.
#pragma once

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

 private:
  std::int64_t count_;
  const std::int64_t* values_ = nullptr;
  std::optional<Scratch<std::int64_t>> copy_;
};

}  // namespace tandem::lib
