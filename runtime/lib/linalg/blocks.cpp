// Triangles and columns that fit the cache, by vectors of AVX2, and the blocked triangular system.
#include "runtime/lib/linalg/blocks.h"

#include <algorithm>
#include <cmath>
#include <immintrin.h>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/linalg/columns.h"
#include "runtime/lib/strided.h"

// The instruction set all our kernels need at least.
#pragma GCC target("avx2,fma")

namespace tandem::lib {
namespace {

#include "runtime/lib/vectors_avx2.h"

template <class T>
using VectorsOf = std::conditional_t<std::is_same_v<T, float>, Floats, Doubles>;

constexpr int kGroup = 4;  // rows of a triangle whose sums are in registers together

/// A lower triangle in the cache: rows kTriangle apart, rows of the unit matrix up to a whole group.
template <class T>
struct PackedTriangle {
  PackedTriangle(const Matrix<T>& a, std::int64_t n, TriangleKind kind) : groups((n + kGroup - 1) / kGroup) {
    // An upper triangle is a lower one, read from its end.
    const std::int64_t turn = kind.upper ? -1 : 1;
    const T* from = kind.upper ? a.data + (n - 1) * (a.rowStride + a.columnStride) : a.data;
    for (std::int64_t i = 0; i < n; ++i) {
      T* row = rows + i * kTriangle;
      for (std::int64_t k = 0; k < i; ++k) row[k] = from[turn * (i * a.rowStride + k * a.columnStride)];
      row[i] = kind.unit ? T(1) : from[turn * i * (a.rowStride + a.columnStride)];
    }
    for (std::int64_t i = n; i < groups * kGroup; ++i) {
      std::fill_n(rows + i * kTriangle, i, T());
      rows[i * kTriangle + i] = T(1);
    }
  }
  std::int64_t groups;
  alignas(32) T rows[kTriangle * kTriangle];
};

/// Solves for `Wide` vectors of columns: x[kTriangle][Wide * lanes].
template <class V, int Wide, bool Unit, class T = typename V::Scalar>
void solveStrip(const PackedTriangle<T>& a, T* x) {
  constexpr std::int64_t width = Wide * V::kLanes;
  for (std::int64_t i = 0; i < a.groups * kGroup; i += kGroup) {
    const T* row = a.rows + i * kTriangle;
    typename V::Vector sums[kGroup][Wide];
    for (int r = 0; r < kGroup; ++r)
      for (int v = 0; v < Wide; ++v) sums[r][v] = V::load(x + (i + r) * width + v * V::kLanes);
    for (std::int64_t k = 0; k < i; ++k) {
      typename V::Vector solved[Wide];
      for (int v = 0; v < Wide; ++v) solved[v] = V::load(x + k * width + v * V::kLanes);
      for (int r = 0; r < kGroup; ++r) {
        auto factor = V::broadcast(-row[r * kTriangle + k]);
        for (int v = 0; v < Wide; ++v) sums[r][v] = V::fma(factor, solved[v], sums[r][v]);
      }
    }
    for (int r = 0; r < kGroup; ++r) {
      for (int s = 0; s < r; ++s) {
        auto factor = V::broadcast(-row[r * kTriangle + i + s]);
        for (int v = 0; v < Wide; ++v) sums[r][v] = V::fma(factor, sums[s][v], sums[r][v]);
      }
      if constexpr (!Unit) {
        auto diagonal = V::broadcast(row[r * kTriangle + i + r]);
        for (int v = 0; v < Wide; ++v) sums[r][v] /= diagonal;
      }
      for (int v = 0; v < Wide; ++v) V::store(x + (i + r) * width + v * V::kLanes, sums[r][v]);
    }
  }
}

/// The columns [from, to) of x, some at a time in a copy.
template <int Wide, class T>
void solveColumns(const PackedTriangle<T>& a, std::int64_t n, TriangleKind kind, T* x, std::int64_t ldx, std::int64_t m,
                  const T* less, std::int64_t from, std::int64_t to) {
  using V = VectorsOf<T>;
  constexpr std::int64_t width = Wide * V::kLanes;
  alignas(32) T strip[kTriangle * width];
  auto rowOf = [&](std::int64_t i) { return kind.upper ? n - 1 - i : i; };
  for (std::int64_t j = from; j < to; j += width) {
    const std::int64_t columns = std::min(width, to - j);
    for (std::int64_t i = 0; i < n; ++i) {
      const T* row = x + rowOf(i) * ldx + j;
      T* target = strip + i * width;
      if (columns < width) std::fill_n(target, width, T());
      std::copy_n(row, columns, target);
      if (less == nullptr) continue;
      const T* other = less + rowOf(i) * m + j;
      for (std::int64_t c = 0; c < columns; ++c) target[c] -= other[c];
    }
    std::fill_n(strip + n * width, (a.groups * kGroup - n) * width, T());
    kind.unit ? solveStrip<V, Wide, true>(a, strip) : solveStrip<V, Wide, false>(a, strip);
    for (std::int64_t i = 0; i < n; ++i) std::copy_n(strip + i * width, columns, x + rowOf(i) * ldx + j);
  }
}

/// The columns [from, to) of a part, by strips of the width that wastes least.
template <class T>
void solvePart(const PackedTriangle<T>& a, std::int64_t n, TriangleKind kind, T* x, std::int64_t ldx, std::int64_t m,
               const T* less, std::int64_t from, std::int64_t to) {
  constexpr std::int64_t lanes = VectorsOf<T>::kLanes;
  const std::int64_t whole = (to - from) % (2 * lanes) > lanes ? to : to - (to - from) % (2 * lanes);
  solveColumns<2>(a, n, kind, x, ldx, m, less, from, whole);
  solveColumns<1>(a, n, kind, x, ldx, m, less, whole, to);
}

/// x = a^-1 (x - less), one dense column: each element, once it is known, is taken from those after it, each of which
/// has the sum that `solveStrip` gives it.
template <class T>
void solveColumn(const Matrix<T>& a, std::int64_t n, TriangleKind kind, T* x, const T* less) {
  T packed[kTriangle * kTriangle];
  const bool dense = a.rowStride == 1;
  const T* columns = dense ? a.data : packed;
  const std::int64_t apart = dense ? a.columnStride : kTriangle;
  if (!dense && a.columnStride == 1)
    transposeMatrix(a.data, a.rowStride, packed, kTriangle, n, n, floatingDType<T>());
  else if (!dense)
    for (std::int64_t k = 0; k < n; ++k)
      for (std::int64_t i = 0; i < n; ++i) packed[k * kTriangle + i] = a.data[i * a.rowStride + k * a.columnStride];
  for (std::int64_t i = 0; less != nullptr && i < n; ++i) x[i] -= less[i];
  for (std::int64_t step = 0; step < n; ++step) {
    const std::int64_t k = kind.upper ? n - 1 - step : step;
    const T* column = columns + k * apart;
    if (!kind.unit) x[k] /= column[k];
    const std::int64_t first = kind.upper ? 0 : k + 1;
    addScaled(-x[k], column + first, x + first, n - 1 - step);
  }
}

/// x = a^-1 x of so few elements that packing them would cost more than it brings, in the same order.
constexpr std::int64_t kFew = 8;
template <class T>
void solveFew(const Matrix<T>& a, std::int64_t n, TriangleKind kind, T* x, std::int64_t ldx, std::int64_t m) {
  const std::int64_t turn = kind.upper ? -1 : 1, diagonal = a.rowStride + a.columnStride;
  const T* of = kind.upper ? a.data + (n - 1) * diagonal : a.data;
  T* solved = kind.upper ? x + (n - 1) * ldx : x;
  for (; n-- > 0; of += turn * diagonal, solved += turn * ldx) {
    if (!kind.unit)
#pragma GCC unroll 1
      for (std::int64_t j = 0; j < m; ++j) solved[j] /= *of;
    for (std::int64_t i = 1; i <= n; ++i) addScaled(-of[turn * i * a.rowStride], solved, solved + turn * i * ldx, m);
  }
}

}  // namespace

template <class T>
void solveTriangle(const Matrix<T>& a, std::int64_t n, TriangleKind kind, T* x, std::int64_t ldx, std::int64_t m,
                   const T* less) {
  solvePart(PackedTriangle<T>(a, n, kind), n, kind, x, ldx, m, less, 0, m);
}

template <class T>
void solveTriangular(const Matrix<T>& a, std::int64_t n, TriangleKind kind, T* x, std::int64_t ldx, std::int64_t m) {
  const bool column = m == 1 && ldx == 1;
  if (n <= (column ? kFew / 2 : kFew) && m <= kFew) return solveFew(a, n, kind, x, ldx, m);
  if (n <= kTriangle && m <= 16 && !column) return solveTriangle(a, n, kind, x, ldx, m);
  Scratch<T> less(std::min(n, kTriangle) * m);
  for (std::int64_t done = 0; done < n; done += kTriangle) {
    const std::int64_t rows = std::min(kTriangle, n - done);
    const std::int64_t at = kind.upper ? n - done - rows : done;
    const std::int64_t solved = kind.upper ? at + rows : 0;  // the first of the rows that are solved
    if (done > 0)
      gemm(rows, m, done, {a.data + at * a.rowStride + solved * a.columnStride, a.rowStride, a.columnStride},
           {x + solved * ldx, ldx, 1}, less.data());
    const Matrix<T> triangle{a.data + at * (a.rowStride + a.columnStride), a.rowStride, a.columnStride};
    if (column) {
      solveColumn(triangle, rows, kind, x + at, done > 0 ? less.data() : nullptr);
      continue;
    }
    const PackedTriangle<T> packed(triangle, rows, kind);
    // Whole strips: their columns do not depend on each other.
    constexpr std::int64_t step = 32;
    parallelFor((m + step - 1) / step, grainOf(rows * rows * step / 8), [&](std::int64_t begin, std::int64_t end) {
      solvePart(packed, rows, kind, x + at * ldx, ldx, m, done > 0 ? less.data() : nullptr, begin * step,
                std::min(m, end * step));
    });
  }
}

template <class T>
void subtractProduct(std::int64_t m, std::int64_t n, std::int64_t k, const Matrix<T>& a, const Matrix<T>& b, T* c,
                     std::int64_t ldc) {
  if (m == 0 || n == 0 || k == 0) return;
  Scratch<T> product(m * n);
  gemm(m, n, k, a, b, product.data());
  parallelFor(m, grainOf(n), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const T* row = product.data() + i * n;
      T* to = c + i * ldc;
      for (std::int64_t j = 0; j < n; ++j) to[j] -= row[j];
    }
  });
}

template <class T>
std::int64_t factorTriangle(T* u, std::int64_t ldu, std::int64_t n) {
  for (std::int64_t k = 0; k < n; ++k) {
    T* row = u + k * ldu;
    if (!(row[k] > 0)) return k + 1;
    const T diagonal = std::sqrt(row[k]);
    row[k] = diagonal;
    for (std::int64_t j = k + 1; j < n; ++j) row[j] /= diagonal;
    for (std::int64_t i = k + 1; i < n; ++i) addScaled(-row[i], row + i, u + i * ldu + i, n - i);
  }
  return 0;
}

template <class T>
void factorColumns(T* a, std::int64_t lda, std::int64_t m, std::int64_t n, std::int64_t* swaps) {
  for (std::int64_t j = 0; j < n && j < m; ++j) {
    T* column = a + j * lda;
    std::int64_t pivot = j;
    T largest = std::abs(column[j]);
    for (std::int64_t i = j + 1; i < m; ++i) {
      const T size = std::abs(column[i]);
      if (size > largest) largest = size, pivot = i;
    }
    swaps[j] = pivot;
    if (pivot != j)
      for (std::int64_t c = 0; c < n; ++c) std::swap(a[c * lda + j], a[c * lda + pivot]);
    // Below a pivot of zero all elements are.
    if (column[j] != 0)
      for (std::int64_t i = j + 1; i < m; ++i) column[i] /= column[j];
    for (std::int64_t c = j + 1; c < n; ++c) addScaled(-a[c * lda + j], column + j + 1, a + c * lda + j + 1, m - j - 1);
  }
}

#define TANDEM_BLOCKS(T)                                                                                               \
  template void solveTriangle(const Matrix<T>&, std::int64_t, TriangleKind, T*, std::int64_t, std::int64_t, const T*); \
  template void solveTriangular(const Matrix<T>&, std::int64_t, TriangleKind, T*, std::int64_t, std::int64_t);         \
  template void subtractProduct(std::int64_t, std::int64_t, std::int64_t, const Matrix<T>&, const Matrix<T>&, T*,      \
                                std::int64_t);                                                                         \
  template std::int64_t factorTriangle(T*, std::int64_t, std::int64_t);                                                \
  template void factorColumns(T*, std::int64_t, std::int64_t, std::int64_t, std::int64_t*);
TANDEM_BLOCKS(float)
TANDEM_BLOCKS(double)
#undef TANDEM_BLOCKS

}  // namespace tandem::lib
