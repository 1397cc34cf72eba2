// Index operands: read in row-major order, negative ones wrapped, all checked before anything is written.
#pragma once

#include <cstdint>

#include "runtime/lib/strided.h"

namespace tandem::lib {

/// The values of an integer tensor in row-major order, each in [0, size). Throws IndexError naming the operation, the
/// first index out of range, the dim and its size.
class IndexList {
 public:
  IndexList(const char* op, const ArrayView& index, std::int64_t dim, std::int64_t size);
  std::int64_t count() const { return count_; }
  std::int64_t operator[](std::int64_t i) const { return values_[i]; }
  std::int64_t* data() const { return values_.data(); }

 private:
  std::int64_t count_;
  Scratch<std::int64_t> values_;
};

}  // namespace tandem::lib
