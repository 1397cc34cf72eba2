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

constexpr int kGroup = 4;            // rows of a triangle whose sums are in registers together
constexpr std::int64_t kStrip = 32;  // columns of a system that a thread solves at least

/// A lower triangle in the cache: rows kTriangle apart, rows of the unit matrix up to a whole group.
template <class T>
struct PackedTriangle {
  PackedTriangle(const Matrix<T>& a, std::int64_t n, TriangleKind kind) : groups((n + kGroup - 1) / kGroup) {
    // An upper triangle is a lower one, read from its end.
    const std::int64_t turn = kind.upper ? -1 : 1;
    const T* from = kind.upper ? a.data + (n - 1) * (a.rowStride + a.columnStride) : a.data;
    for (std::int64_t i = 0; i < n; ++i) {
      T* row = rows + i * kTriangle;
      const T* source = from + turn * i * a.rowStride;
      const std::int64_t step = turn * a.columnStride;
      std::int64_t k = 0;
      if (step == 1)
        for (constexpr std::int64_t lanes = VectorsOf<T>::kLanes; k + lanes <= i; k += lanes)
          VectorsOf<T>::store(row + k, VectorsOf<T>::load(source + k));
      for (; k < i; ++k) row[k] = source[k * step];
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
void solveColumns(const PackedTriangle<T>& a, std::int64_t n, TriangleKind kind, T* x, std::int64_t ldx,
                  std::int64_t from, std::int64_t to) {
  using V = VectorsOf<T>;
  constexpr std::int64_t width = Wide * V::kLanes;
  alignas(32) T strip[kTriangle * width];
  for (std::int64_t j = from; j < to; j += width) {
    const std::int64_t columns = std::min(width, to - j);
    // By vectors: a call for each row would take as long as what is done with it.
    const auto rowOf = [&](std::int64_t i) { return x + (kind.upper ? n - 1 - i : i) * ldx + j; };
    for (std::int64_t i = 0; i < n; ++i)
      for (int v = 0; v < Wide; ++v) {
        const std::int64_t at = v * V::kLanes, here = std::clamp<std::int64_t>(columns - at, 0, V::kLanes);
        V::store(strip + i * width + at,
                 here == V::kLanes ? V::load(rowOf(i) + at) : V::first(static_cast<int>(here), rowOf(i) + at));
      }
    std::fill_n(strip + n * width, (a.groups * kGroup - n) * width, T());
    kind.unit ? solveStrip<V, Wide, true>(a, strip) : solveStrip<V, Wide, false>(a, strip);
    for (std::int64_t i = 0; i < n; ++i) {
      const T* from = strip + i * width;
      if (columns == width)
        for (int v = 0; v < Wide; ++v) V::store(rowOf(i) + v * V::kLanes, V::load(from + v * V::kLanes));
      else
        for (std::int64_t c = 0; c < columns; ++c) rowOf(i)[c] = from[c];
    }
  }
}

/// The columns [from, to) of a part, by strips of the width that wastes least.
template <class T>
void solvePart(const PackedTriangle<T>& a, std::int64_t n, TriangleKind kind, T* x, std::int64_t ldx, std::int64_t from,
               std::int64_t to) {
  constexpr std::int64_t lanes = VectorsOf<T>::kLanes;
  const std::int64_t whole = (to - from) % (2 * lanes) > lanes ? to : to - (to - from) % (2 * lanes);
  solveColumns<2>(a, n, kind, x, ldx, from, whole);
  solveColumns<1>(a, n, kind, x, ldx, whole, to);
}

/// x = a^-1 x, one dense column: each element, once it is known, is taken from those after it, each of which
/// has the sum that `solveStrip` gives it.
template <class T>
void solveColumn(const Matrix<T>& a, std::int64_t n, TriangleKind kind, T* x) {
  T packed[kTriangle * kTriangle];
  const bool dense = a.rowStride == 1;
  const T* columns = dense ? a.data : packed;
  const std::int64_t apart = dense ? a.columnStride : kTriangle;
  if (!dense && a.columnStride == 1)
    transposeMatrix(a.data, a.rowStride, packed, kTriangle, n, n, floatingDType<T>());
  else if (!dense)
    for (std::int64_t k = 0; k < n; ++k)
      for (std::int64_t i = 0; i < n; ++i) packed[k * kTriangle + i] = a.data[i * a.rowStride + k * a.columnStride];
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

/// The part of a that begins at an element.
template <class T>
Matrix<T> partOf(const Matrix<T>& a, std::int64_t i, std::int64_t j) {
  return {a.data + i * a.rowStride + j * a.columnStride, a.rowStride, a.columnStride};
}

template <class T>
void divide(T* x, std::int64_t n, T by) {
  using V = VectorsOf<T>;
  std::int64_t i = 0;
  for (; i + V::kLanes <= n; i += V::kLanes) V::store(x + i, V::load(x + i) / V::broadcast(by));
  for (; i < n; ++i) x[i] /= by;
}

/// The columns [begin, end) of a triangular system of n rows, by halves: the rows that are solved first, what a product
/// takes from the others, and these.
template <class T>
struct Halving {
  Matrix<T> a;
  TriangleKind kind;
  T* x;
  std::int64_t ldx, begin, end;

  /// The rows [at, at + n).
  void solve(std::int64_t at, std::int64_t n) const {
    // Of a unit matrix the columns before an upper part, and those behind a lower one, stay zeros.
    const auto columns = [&](std::int64_t first, std::int64_t rows) {
      return std::pair(kind.ofUnit && kind.upper ? std::max(begin, first) : begin,
                       kind.ofUnit && !kind.upper ? std::min(end, first + rows) : end);
    };
    if (n <= kTriangle) {
      const auto [from, to] = columns(at, n);
      if (from >= to) return;
      const PackedTriangle<T> packed(partOf(a, at, at), n, kind);
      return solvePart(packed, n, kind, x + at * ldx, ldx, from, to);
    }
    const std::int64_t half = (n / 2 + kTriangle - 1) / kTriangle * kTriangle, other = n - half;
    const std::int64_t first = kind.upper ? at + other : at, next = kind.upper ? at : at + half;
    solve(first, half);
    const auto [from, to] = columns(first, half);
    if (from < to)
      subtractProduct(other, to - from, half, partOf(a, next, first), {x + first * ldx + from, ldx, 1},
                      x + next * ldx + from, ldx);
    solve(next, other);
  }
};

}  // namespace

template <class T>
void solveTriangular(const Matrix<T>& a, std::int64_t n, TriangleKind kind, T* x, std::int64_t ldx, std::int64_t m) {
  const bool column = m == 1 && ldx == 1;
  if (n <= (column ? kFew / 2 : kFew) && m <= kFew) return solveFew(a, n, kind, x, ldx, m);
  if (!column) {
    if (m <= kStrip) return Halving<T>{a, kind, x, ldx, 0, m}.solve(0, n);
    // Columns do not depend on each other. A thread takes some of them from the first row to the last.
    const std::int64_t width = ceilDiv(m, 2 * numThreads() * kStrip) * kStrip;
    parallelFor(ceilDiv(m, width), grainOf(n * n / 8 * width), [&](std::int64_t begin, std::int64_t end) {
      Halving<T>{a, kind, x, ldx, begin * width, std::min(m, end * width)}.solve(0, n);
    });
    return;
  }
  T less[kTriangle];
  for (std::int64_t done = 0; done < n; done += kTriangle) {
    const std::int64_t rows = std::min(kTriangle, n - done);
    const std::int64_t at = kind.upper ? n - done - rows : done;
    const std::int64_t solved = kind.upper ? at + rows : 0;  // the first of the rows that are solved
    if (done > 0) {
      gemm(rows, 1, done, partOf(a, at, solved), {x + solved, 1, 1}, less);
      for (std::int64_t i = 0; i < rows; ++i) x[at + i] -= less[i];
    }
    solveColumn(partOf(a, at, at), rows, kind, x + at);
  }
}

template <class T>
void negate(const Matrix<T>& a, std::int64_t rows, std::int64_t columns, T* to, std::int64_t apart) {
  using V = VectorsOf<T>;
  for (std::int64_t i = 0; i < rows; ++i, to += apart) {
    const T* from = a.data + i * a.rowStride;
    std::int64_t j = 0;
    if (a.columnStride == 1)
      for (; j + V::kLanes <= columns; j += V::kLanes) V::store(to + j, -V::load(from + j));
    for (; j < columns; ++j) to[j] = -from[j * a.columnStride];
  }
}

template <class T>
void subtractProduct(std::int64_t m, std::int64_t n, std::int64_t k, const Matrix<T>& a, const Matrix<T>& b, T* c,
                     std::int64_t ldc) {
  if (m == 0 || n == 0 || k == 0) return;
  // The smaller operand, negated: rows, or columns, that do not collide in the cache.
  const bool right = n < m;
  Matrix<T> from = right ? b : a;
  std::int64_t rows = right ? k : m, columns = right ? n : k;
  const bool turned = from.columnStride != 1;
  if (turned) std::swap(rows, columns), std::swap(from.rowStride, from.columnStride);
  const std::int64_t apart = columns + 16;
  Scratch<T> negated(rows * apart);
  parallelFor(rows, grainOf(columns), [&](std::int64_t begin, std::int64_t end) {
    negate(partOf(from, begin, 0), end - begin, columns, negated.data() + begin * apart, apart);
  });
  const Matrix<T> less{negated.data(), turned ? 1 : apart, turned ? apart : 1};
  addGemm(m, n, k, right ? a : less, right ? less : b, c, ldc);
}

template <class T>
std::int64_t factorTriangle(T* u, std::int64_t ldu, std::int64_t n) {
  for (std::int64_t k = 0; k < n; ++k) {
    T* row = u + k * ldu;
    if (!(row[k] > 0)) return k + 1;
    const T diagonal = std::sqrt(row[k]);
    row[k] = diagonal;
    divide(row + k + 1, n - k - 1, diagonal);
    for (std::int64_t i = k + 1; i < n; ++i) addScaled(-row[i], row + i, u + i * ldu + i, n - i);
  }
  return 0;
}

template <class T>
void factorColumns(T* a, std::int64_t lda, std::int64_t m, std::int64_t n, std::int64_t* swaps) {
  const std::int64_t count = std::min(m, n);
  for (std::int64_t j = 0; j < count; ++j) {
    T* column = a + j * lda;
    std::int64_t pivot = j;
    // The first of the largest: a NaN, which is none, counts where it is on the diagonal.
    const T largest = largestOf(column + j, m - j);
    if (largest > std::abs(column[j]))
      for (++pivot; std::abs(column[pivot]) != largest;) ++pivot;
    swaps[j] = pivot;
    if (pivot != j)
      for (std::int64_t c = 0; c < n; ++c) std::swap(a[c * lda + j], a[c * lda + pivot]);
    // Below a pivot of zero all elements are.
    if (column[j] != 0) divide(column + j + 1, m - j - 1, column[j]);
    // The columns of a group at once, those right of it once all of the group are known.
    const std::int64_t first = j / kGroup * kGroup, last = std::min(first + kGroup, count);
    for (std::int64_t c = j + 1; c < last; ++c)
      addScaled(-a[c * lda + j], column + j + 1, a + c * lda + j + 1, m - j - 1);
    if (j + 1 < last) continue;
    for (std::int64_t c = last; c < n; ++c) {
      T* to = a + c * lda;
      T factors[kGroup];
      for (std::int64_t i = first; i < last; ++i) {
        factors[i - first] = -to[i];
        for (std::int64_t r = i + 1; r < last; ++r) to[r] = VectorsOf<T>::fma(-to[i], a[i * lda + r], to[r]);
      }
      combine(a + first * lda + last, lda, m - last, last - first, factors, to + last);
    }
  }
}

#define TANDEM_BLOCKS(T)                                                                                               \
  template void solveTriangular(const Matrix<T>&, std::int64_t, TriangleKind, T*, std::int64_t, std::int64_t);         \
  template void negate(const Matrix<T>&, std::int64_t, std::int64_t, T*, std::int64_t);                                \
  template void subtractProduct(std::int64_t, std::int64_t, std::int64_t, const Matrix<T>&, const Matrix<T>&, T*,      \
                                std::int64_t);                                                                         \
  template std::int64_t factorTriangle(T*, std::int64_t, std::int64_t);                                                \
  template void factorColumns(T*, std::int64_t, std::int64_t, std::int64_t, std::int64_t*);
TANDEM_BLOCKS(float)
TANDEM_BLOCKS(double)
#undef TANDEM_BLOCKS

}  // namespace tandem::lib
