// A part of an array, written from another one: a window of it, or one of several inputs that are joined.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "runtime/kernel/collapse.h"
#include "runtime/lib/movement/copy_bytes.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {

/// `count` elements from `to` on, all as the one at `from`.
inline void fillElements(DType dtype, const char* from, std::int64_t count, char* to) {
  withSize(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    std::fill_n(reinterpret_cast<T*>(to), count, *reinterpret_cast<const T*>(from));
  });
}

/// The elements of a window as dense rows, one behind the other in the output.
class WindowRows {
 public:
  WindowRows(const ArrayView& value, const ArrayView& window)
      : value_(value.as<char>()), dtype_(value.dtype), shape_(window.shape), strides_{value.strides, window.strides} {
    collapsePointwise(shape_, strides_);
  }

  /// Other windows, and values that lie across them, are copied as arrays are; many short rows take less time so.
  [[nodiscard]] bool suit() const {
    constexpr std::int64_t kShortRow = 8;
    const std::size_t last = shape_.size() - 1;
    if ((last > 0 && shape_[last] <= kShortRow) || strides_[0][last] > 1 || strides_[1][last] != 1) return false;
    std::int64_t span = 1;  // of the dims behind
    for (std::size_t d = shape_.size(); d-- > 0; span += (shape_[d] - 1) * strides_[1][d])
      if (strides_[1][d] < span) return false;
    return true;
  }

  /// The places from `begin` to before `end`, counted from the window's first element: to `to` and behind it what rows
  /// have there; what lies between them is left to `between`, from one place to before another.
  template <class Between>
  void write(std::int64_t begin, std::int64_t end, char* to, const Between& between) const {
    const std::size_t last = shape_.size() - 1;
    const std::int64_t n = shape_[last], fromStep = strides_[0][last];
    const auto size = static_cast<std::int64_t>(itemSize(dtype_));
    std::int64_t index = indexOf(begin);
    const std::int64_t behind = indexOf(end);
    Walker<2> row(DimsRef(shape_).first(last), {DimsRef(strides_[0]).first(last), DimsRef(strides_[1]).first(last)},
                  index / n);
    std::int64_t written = begin;
    for (; index < behind; row.next()) {
      const std::int64_t i = index % n, count = std::min(n - i, behind - index), place = row.offset[1] + i;
      between(written, place);
      const char* const source = value_ + (row.offset[0] + i * fromStep) * size;
      char* const target = to + (place - begin) * size;
      if (fromStep == 1)
        copyBytes(target, source, static_cast<std::size_t>(count * size));
      else
        fillElements(dtype_, source, count, target);
      written = place + count;
      index += count;
    }
    between(written, end);
  }

 private:
  /// How many of the elements lie before a place.
  [[nodiscard]] std::int64_t indexOf(std::int64_t place) const {
    if (place <= 0) return 0;
    std::int64_t index = 0;
    for (std::size_t d = 0; d < shape_.size(); ++d) {
      const std::int64_t i = std::min(place / strides_[1][d], shape_[d]);
      index = index * shape_[d] + i;
      place -= i * strides_[1][d];
      if (i < shape_[d]) continue;
      // Behind all of this dim.
      while (++d < shape_.size()) index *= shape_[d];
    }
    return index;
  }

  const char* value_;
  DType dtype_;
  Dims shape_;
  std::array<Dims, 2> strides_;  // of the value and of the window
};

}  // namespace tandem::lib
