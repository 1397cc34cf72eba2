// window_write: what a write through a view means for the tensor that is viewed. Where the window's rows lie in the
// output in their own order, as a slice's do, rows and what lies between them are written in one pass over the output,
// of which each thread has the part that it has of other arrays of the size.
#include <algorithm>
#include <array>
#include <cstdint>

#include "runtime/device/thread_pool.h"
#include "runtime/kernel/collapse.h"
#include "runtime/lib/movement/copy_bytes.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

/// The elements of a window as dense rows, one behind the other in the output.
class WindowRows {
 public:
  WindowRows(const ArrayView& value, const ArrayView& window)
      : value_(value.data), shape_(window.shape), strides_{value.strides, window.strides} {
    collapsePointwise(shape_, strides_);
  }

  /// Other windows, and values that lie across them, are copied as arrays are; short rows take less time so.
  [[nodiscard]] bool suit() const {
    constexpr std::int64_t kShortRow = 8;
    const std::size_t last = shape_.size() - 1;
    if (shape_[last] <= kShortRow || strides_[0][last] > 1 || strides_[1][last] != 1) return false;
    std::int64_t span = 1;  // of the dims behind
    for (std::size_t d = shape_.size(); d-- > 0; span += (shape_[d] - 1) * strides_[1][d])
      if (strides_[1][d] < span) return false;
    return true;
  }

  /// The places from `begin` to before `end`, counted from the window's first element: to `to` and behind it what rows
  /// have there; what lies between them is left to `between`, from one place to before another.
  template <class T, class Between>
  void write(std::int64_t begin, std::int64_t end, T* to, const Between& between) const {
    const std::size_t last = shape_.size() - 1;
    const std::int64_t n = shape_[last], fromStep = strides_[0][last];
    std::int64_t index = indexOf(begin);
    const std::int64_t behind = indexOf(end);
    Walker<2> row(DimsRef(shape_).first(last), {DimsRef(strides_[0]).first(last), DimsRef(strides_[1]).first(last)},
                  index / n);
    std::int64_t written = begin;
    for (; index < behind; row.next()) {
      const std::int64_t i = index % n, count = std::min(n - i, behind - index), place = row.offset[1] + i;
      between(written, place);
      const T* const source = static_cast<const T*>(value_) + row.offset[0] + i * fromStep;
      if (fromStep == 1)
        copyBytes(to + (place - begin), source, static_cast<std::size_t>(count) * sizeof(T));
      else
        std::fill_n(to + (place - begin), count, *source);
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

  const void* value_;
  Dims shape_;
  std::array<Dims, 2> strides_;  // of the value and of the window
};

/// False, having done nothing, where the base is neither one element for all nor lies as the output.
template <class T>
bool writeRows(const ArrayView& base, const WindowRows& rows, std::int64_t offset, const ArrayView& out) {
  const bool one = std::ranges::all_of(base.strides, [](std::int64_t s) { return s == 0; });
  if (!one && !base.contiguous()) return false;
  parallelFor(out.numel(), kSerialElements, [&](std::int64_t first, std::int64_t last) {
    rows.write(first - offset, last - offset, out.as<T>() + first, [&](std::int64_t from, std::int64_t to) {
      const T* const source = base.as<T>();
      T* const target = out.as<T>() + offset;
      if (one)
        std::fill(target + from, target + to, *source);
      else if (from < to)
        copyBytes(target + from, source + offset + from, static_cast<std::size_t>(to - from) * sizeof(T));
    });
  });
  return true;
}

}  // namespace

void window_write(const LibraryCall& call) {
  const ArrayView& out = call.outputs[0];
  const ArrayView& base = call.inputs[0];
  ArrayView value = call.inputs[1];
  AttrReader attrs(call.attrs);
  DimsRef size = attrs.list();
  DimsRef stride = attrs.list();
  std::int64_t offset = attrs.integer();
  value.strides = broadcastStrides(value.shape, value.strides, size);
  value.shape = size;
  ArrayView window{out.as<unsigned char>() + static_cast<std::size_t>(offset) * itemSize(out.dtype), out.dtype, size,
                   stride};
  if (base.data != out.data && value.numel() > 0 && out.contiguous()) {
    const WindowRows rows(value, window);
    const auto write = [&](auto tag) { return writeRows<typename decltype(tag)::Type>(base, rows, offset, out); };
    if (rows.suit() && withSize(out.dtype, write)) return;
  }
  copyArray(base, out);
  copyArray(value, window);
}

}  // namespace tandem::lib
