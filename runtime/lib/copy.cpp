// Strided copies. Dims are ordered by the destination's strides and merged where both sides allow; what remains is
// rows: plain memory copies, strided runs, or, where the source is dense along another dim, blocks of a transposition.
#include <algorithm>
#include <array>
#include <utility>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/copy_bytes.h"
#include "runtime/lib/strided.h"

namespace tandem {
namespace {

using lib::kSerialElements;
using lib::Walker;

struct CopyDims {
  Dims shape, from, to;
};

/// Sorted by descending destination stride, size-1 dims dropped, adjacent dims merged.
CopyDims simplify(const ArrayView& from, const ArrayView& to) {
  SmallVector<std::uint32_t, 6> order;
  for (std::uint32_t d = 0; d < from.shape.size(); ++d)
    if (from.shape[d] != 1) order.push_back(d);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return to.strides[a] > to.strides[b]; });
  CopyDims c;
  for (std::uint32_t d : order) {
    std::int64_t n = from.shape[d];
    if (!c.shape.empty() && c.from.back() == from.strides[d] * n && c.to.back() == to.strides[d] * n) {
      c.shape.back() *= n;
      c.from.back() = from.strides[d];
      c.to.back() = to.strides[d];
    } else {
      c.shape.push_back(n);
      c.from.push_back(from.strides[d]);
      c.to.push_back(to.strides[d]);
    }
  }
  return c;
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

/// 16 bytes, the vectors that every processor here has.
template <class T>
struct LanesOf {
  typedef T Type __attribute__((vector_size(16)));
};
template <class T>
using Lanes = typename LanesOf<T>::Type;

/// The first (or last) halves of two vectors, element by element in turn.
template <bool Last, class V, std::size_t... I>
[[gnu::always_inline]] inline V interleave(V a, V b, std::index_sequence<I...>) {
  constexpr std::size_t n = sizeof...(I);
  return __builtin_shufflevector(a, b, (I % 2 * n + I / 2 + (Last ? n / 2 : 0))...);
}

/// The transpose of as many vectors as they have elements: each of log2(n) steps interleaves vector i with i + n/2.
template <class T>
[[gnu::always_inline]] inline void transposeLanes(const T* from, std::int64_t fromColumn, T* to, std::int64_t toRow) {
  constexpr int n = 16 / sizeof(T);
  using Each = std::make_index_sequence<n>;
  Lanes<T> rows[n];
  for (int j = 0; j < n; ++j) std::memcpy(&rows[j], from + j * fromColumn, 16);
  for (int step = 1; step < n; step *= 2) {
    Lanes<T> next[n];
    for (int j = 0; j < n / 2; ++j) {
      next[2 * j] = interleave<false>(rows[j], rows[j + n / 2], Each{});
      next[2 * j + 1] = interleave<true>(rows[j], rows[j + n / 2], Each{});
    }
    for (int j = 0; j < n; ++j) rows[j] = next[j];
  }
  for (int i = 0; i < n; ++i) std::memcpy(to + i * toRow, &rows[i], 16);
}

/// Few columns: they are read in turn.
template <int N, class T>
void mergeColumns(const T* from, std::int64_t fromColumn, T* to, std::int64_t toRow, std::int64_t rows) {
  for (std::int64_t i = 0; i < rows; ++i)
    for (int j = 0; j < N; ++j) to[i * toRow + j] = from[i + j * fromColumn];
}

/// One matrix whose source is dense down the rows and whose destination is dense along them, by way of a small block:
/// every line of memory is read once and written once, however far apart the lines are.
template <class T>
void transposeBlock(const T* from, std::int64_t fromColumn, T* to, std::int64_t toRow, std::int64_t rows,
                    std::int64_t columns) {
  if (columns == 2) return mergeColumns<2>(from, fromColumn, to, toRow, rows);
  if (columns == 3) return mergeColumns<3>(from, fromColumn, to, toRow, rows);
  if (columns == 4) return mergeColumns<4>(from, fromColumn, to, toRow, rows);
  constexpr std::int64_t kLanes = 16 / sizeof(T);
  constexpr std::int64_t kBlock = sizeof(T) == 8 ? 32 : 64;  // several lines of each column at once
  alignas(64) T block[kBlock * kBlock];
  for (std::int64_t i0 = 0; i0 < rows; i0 += kBlock)
    for (std::int64_t j0 = 0; j0 < columns; j0 += kBlock) {
      std::int64_t n = std::min(rows - i0, kBlock);
      std::int64_t m = std::min(columns - j0, kBlock);
      for (std::int64_t j = 0; j < m; ++j)
        std::memcpy(block + j * kBlock, from + i0 + (j0 + j) * fromColumn, static_cast<std::size_t>(n) * sizeof(T));
      T* out = to + i0 * toRow + j0;
      std::int64_t i = 0;
      for (; i + kLanes <= n; i += kLanes) {
        std::int64_t j = 0;
        for (; j + kLanes <= m; j += kLanes) transposeLanes(block + j * kBlock + i, kBlock, out + i * toRow + j, toRow);
        for (; j < m; ++j)
          for (std::int64_t k = i; k < i + kLanes; ++k) out[k * toRow + j] = block[j * kBlock + k];
      }
      for (; i < n; ++i)
        for (std::int64_t j = 0; j < m; ++j) out[i * toRow + j] = block[j * kBlock + i];
    }
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

template <class T>
void copyDims(const T* from, T* to, const CopyDims& c) {
  std::size_t rank = c.shape.size();
  if (rank == 0) {
    *to = *from;
    return;
  }
  std::int64_t n = c.shape[rank - 1];
  if (rank == 1) {
    parallelFor(n, kSerialElements, [&](std::int64_t begin, std::int64_t end) {
      copyRow(from + begin * c.from[0], c.from[0], to + begin * c.to[0], c.to[0], end - begin);
    });
    return;
  }
  std::int64_t rows = c.shape[rank - 2];
  if (c.from[rank - 2] == 1 && c.to[rank - 1] == 1 && rows >= 4 && n >= 2) {
    DimsRef outer = DimsRef(c.shape).first(rank - 2);
    std::int64_t bands = (rows + 63) / 64;
    std::array<DimsRef, 2> strides{DimsRef(c.from).first(rank - 2), DimsRef(c.to).first(rank - 2)};
    parallelFor(numelOf(outer) * bands, kSerialElements / (64 * n) + 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        Walker<2> at(outer, strides, i / bands);
        std::int64_t first = i % bands * 64;
        transposeBlock(from + at.offset[0] + first, c.from[rank - 1], to + at.offset[1] + first * c.to[rank - 2],
                       c.to[rank - 2], std::min<std::int64_t>(64, rows - first), n);
      }
    });
    return;
  }
  DimsRef outer = DimsRef(c.shape).first(rank - 1);
  std::array<DimsRef, 2> strides{DimsRef(c.from).first(rank - 1), DimsRef(c.to).first(rank - 1)};
  parallelFor(numelOf(outer), kSerialElements / n + 1, [&](std::int64_t begin, std::int64_t end) {
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
  CopyDims c = simplify(from, to);
  bringDenseForward(c);
  lib::withSize(from.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    copyDims(from.as<T>(), to.as<T>(), c);
  });
}

void transposeMatrix(const void* from, std::int64_t fromColumn, void* to, std::int64_t toRow, std::int64_t rows,
                     std::int64_t columns, DType dtype) {
  lib::withSize(dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    transposeBlock(static_cast<const T*>(from), fromColumn, static_cast<T*>(to), toRow, rows, columns);
  });
}

}  // namespace tandem
