// Strided copies. Dims are ordered by the destination's strides and merged where both sides allow; what remains is
// rows: plain memory copies, strided runs, or, where the source is dense along another dim, blocks of a transposition.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <type_traits>
#include <utility>

#include "runtime/device/thread_pool.h"
#include "runtime/kernel/collapse.h"
#include "runtime/lib/movement/copy_bytes.h"
#include "runtime/lib/movement/transpose.h"
#include "runtime/lib/strided.h"

namespace tandem {
namespace {

using lib::grainOf;
using lib::kSerialElements;
using lib::Walker;

struct CopyDims {
  Dims shape, from, to;
};

CopyDims simplify(const ArrayView& from, const ArrayView& to) {
  Dims shape = from.shape;
  std::array<Dims, 2> strides{from.strides, to.strides};
  orderAsLies(shape, strides, 1);
  collapsePointwise(shape, strides);
  return {std::move(shape), std::move(strides[0]), std::move(strides[1])};
}

/// The same elements, a dim the other way round.
ArrayView backwards(ArrayView x, std::size_t d) {
  x.data = x.as<char>() + (x.shape[d] - 1) * x.strides[d] * static_cast<std::int64_t>(itemSize(x.dtype));
  x.strides[d] = -x.strides[d];
  return x;
}

template <class T>
void copyRow(const T* from, std::int64_t fromStride, T* to, std::int64_t toStride, std::int64_t n) {
  if (fromStride == 1 && toStride == 1)
    lib::copyBytes(to, from, static_cast<std::size_t>(n) * sizeof(T));
  else if (fromStride == 0 && toStride == 1)
    std::fill_n(to, n, *from);
  else if (toStride == 1)
    for (std::int64_t i = 0; i < n; ++i) to[i] = from[i * fromStride];
  else
    for (std::int64_t i = 0; i < n; ++i) to[i * toStride] = from[i * fromStride];
}

/// The dim along which the source is dense goes next to the last, if the last is not that one: a transposition then.
void bringDenseForward(CopyDims& c) {
  std::size_t rank = c.shape.size();
  if (rank < 3 || c.from[rank - 1] == 1 || c.from[rank - 1] == 0 || c.to[rank - 1] != 1) return;
  for (std::size_t d = 0; d + 2 < rank; ++d) {
    if (c.from[d] != 1 || c.shape[d] < 4) continue;
    for (; d + 2 < rank; ++d) {
      std::swap(c.shape[d], c.shape[d + 1]);
      std::swap(c.from[d], c.from[d + 1]);
      std::swap(c.to[d], c.to[d + 1]);
    }
  }
}

/// `count` rows of `n` elements, which lie side by side in the destination.
template <class T, class N, class Step>
[[gnu::always_inline]] inline void copyShortRows(const T* from, Step fromRow, std::int64_t fromStride, T* to,
                                                 std::int64_t toRow, std::int64_t count, N n) {
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t k = 0; k < n; ++k) to[i * toRow + k] = from[i * fromRow + k * fromStride];
}

// Of so few elements a row takes less time than finding its place among many dims.
constexpr std::int64_t kShortRow = 8;

/// Rows of few elements, of the longer one of the two dims before them at a time.
template <class T>
void copyShort(const T* from, T* to, CopyDims c) {
  const std::size_t last = c.shape.size() - 1;
  if (last > 1 && c.shape[last - 2] > c.shape[last - 1])
    for (Dims* dims : {&c.shape, &c.from, &c.to}) std::swap((*dims)[last - 2], (*dims)[last - 1]);
  const std::int64_t n = c.shape[last], rows = c.shape[last - 1];
  const DimsRef outer = DimsRef(c.shape).first(last - 1);
  const std::array<DimsRef, 2> strides{DimsRef(c.from).first(last - 1), DimsRef(c.to).first(last - 1)};
  parallelFor(numelOf(outer) * rows, grainOf(n), [&](std::int64_t begin, std::int64_t end) {
    Walker<2> at(outer, strides, begin / rows);
    for (std::int64_t row = begin % rows; begin < end; row = 0, at.next()) {
      const std::int64_t count = std::min(rows - row, end - begin);
      const T* source = from + at.offset[0] + row * c.from[last - 1];
      T* target = to + at.offset[1] + row * c.to[last - 1];
      begin += count;
      const std::int64_t fromRow = c.from[last - 1], fromStride = c.from[last], toRow = c.to[last - 1];
      if (n == 2 && fromRow == 1 && toRow == 2)
        copyShortRows(source, std::integral_constant<std::int64_t, 1>(), fromStride, target, toRow, count,
                      std::integral_constant<std::int64_t, 2>());
      else if (n == 2)
        copyShortRows(source, fromRow, fromStride, target, toRow, count, std::integral_constant<std::int64_t, 2>());
      else if (n == 4)
        copyShortRows(source, fromRow, fromStride, target, toRow, count, std::integral_constant<std::int64_t, 4>());
      else
        copyShortRows(source, fromRow, fromStride, target, toRow, count, n);
    }
  });
}

template <class T>
void copyDims(const T* from, T* to, const CopyDims& c) {
  std::size_t rank = c.shape.size();
  std::int64_t n = c.shape[rank - 1];
  if (rank == 1) {
    parallelFor(n, kSerialElements, [&](std::int64_t begin, std::int64_t end) {
      copyRow(from + begin * c.from[0], c.from[0], to + begin * c.to[0], c.to[0], end - begin);
    });
    return;
  }
  std::int64_t rows = c.shape[rank - 2];
  const bool few = rows >= 2 && c.from[rank - 1] == rows;
  if (c.from[rank - 2] == 1 && c.to[rank - 1] == 1 && (rows >= 4 || few) && n >= 2) {
    DimsRef outer = DimsRef(c.shape).first(rank - 2);
    std::int64_t bands = (rows + 63) / 64;
    std::array<DimsRef, 2> strides{DimsRef(c.from).first(rank - 2), DimsRef(c.to).first(rank - 2)};
    parallelFor(numelOf(outer) * bands, grainOf(std::min<std::int64_t>(64, rows) * n),
                [&](std::int64_t begin, std::int64_t end) {
                  Walker<2> at(outer, strides, begin / bands);
                  for (std::int64_t i = begin, band = begin % bands; i < end; ++i) {
                    const std::int64_t first = band * 64;
                    lib::transposeBlock(from + at.offset[0] + first, c.from[rank - 1],
                                        to + at.offset[1] + first * c.to[rank - 2], c.to[rank - 2],
                                        std::min<std::int64_t>(64, rows - first), n);
                    if (++band == bands) {
                      band = 0;
                      at.next();
                    }
                  }
                });
    return;
  }
  if (n <= kShortRow && c.to[rank - 1] == 1) return copyShort(from, to, c);
  DimsRef outer = DimsRef(c.shape).first(rank - 1);
  std::array<DimsRef, 2> strides{DimsRef(c.from).first(rank - 1), DimsRef(c.to).first(rank - 1)};
  parallelFor(numelOf(outer), grainOf(n), [&](std::int64_t begin, std::int64_t end) {
    Walker<2> at(outer, strides, begin);
    for (std::int64_t i = begin; i < end; ++i, at.next())
      copyRow(from + at.offset[0], c.from[rank - 1], to + at.offset[1], c.to[rank - 1], n);
  });
}

}  // namespace

void copyArray(const ArrayView& from, const ArrayView& to) {
  TANDEM_CHECK(from.dtype == to.dtype && from.shape == to.shape, "copy between different arrays");
  const bool itself = from.data == to.data && from.strides == to.strides;
  if (itself || from.numel() == 0) return;
  // What is dense backwards becomes a transposition with its rows written backwards.
  for (std::size_t d = 0; d < from.shape.size(); ++d)
    if (from.strides[d] == -1 && to.strides[d] != 1) return copyArray(backwards(from, d), backwards(to, d));
  CopyDims c = simplify(from, to);
  bringDenseForward(c);
  lib::withSize(from.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    copyDims(from.as<T>(), to.as<T>(), c);
  });
}

RowMajorPieces::RowMajorPieces(const ArrayView& from) : from_(from) {
  constexpr std::int64_t kPiece = 256 * 1024;  // bytes: some of the second cache
  constexpr std::int64_t kLine = 64;
  constexpr std::int64_t kParts = 8;  // of a piece: its ends are rounded to units
  collapsePointwise(from_.shape, {&from_.strides, 1});
  std::size_t dense = 0;
  for (std::size_t d = 1; d < from_.shape.size(); ++d) {
    if (from_.strides[d] == 0) continue;
    if (from_.strides[dense] == 0 || std::abs(from_.strides[d]) < std::abs(from_.strides[dense])) dense = d;
  }
  std::int64_t inner = from_.numel();
  for (dim_ = 0;; ++dim_) {
    inner /= from_.shape[dim_];
    if (dim_ == dense || inner * itemSize() * kParts <= kPiece) break;
  }
  unit_ = inner;
  const std::int64_t lines = dim_ == dense ? std::min(from_.shape[dim_], kLine / itemSize() * 4) : 1;
  least_ = std::max(lines * unit_, kPiece / itemSize());
}

char* RowMajorPieces::copy(std::int64_t begin, std::int64_t end, char* to) const {
  char* const first = to + begin % unit_ * itemSize();
  const std::int64_t steps = from_.shape[dim_];
  begin /= unit_;
  end = (end + unit_ - 1) / unit_;
  while (begin < end) {
    const std::int64_t step = begin % steps;
    const std::int64_t count = std::min(end - begin, steps - step);
    ArrayView part = from_;
    std::int64_t offset = step * from_.strides[dim_];
    for (std::size_t d = dim_, left = static_cast<std::size_t>(begin / steps); d-- > 0;) {
      const auto size = static_cast<std::size_t>(from_.shape[d]);
      offset += static_cast<std::int64_t>(left % size) * from_.strides[d];
      left /= size;
      part.shape[d] = 1;
    }
    part.data = from_.as<char>() + offset * itemSize();
    part.shape[dim_] = count;
    copyArray(part, {to, from_.dtype, part.shape, contiguousStrides(part.shape)});
    to += count * unit_ * itemSize();
    begin += count;
  }
  return first;
}

void transposeMatrix(const void* from, std::int64_t fromColumn, void* to, std::int64_t toRow, std::int64_t rows,
                     std::int64_t columns, DType dtype) {
  lib::withSize(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    lib::transposeBlock(static_cast<const T*>(from), fromColumn, static_cast<T*>(to), toRow, rows, columns);
  });
}

}  // namespace tandem
