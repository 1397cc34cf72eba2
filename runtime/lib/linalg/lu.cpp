// LU factors with partial pivoting of each matrix of a batch, and systems of equations by them (blocks.h). Columns are
// factored in halves: the left one, then what is right of it by a triangular system and a product, then the right one.
// Of many columns that are blocks, one after the other, by all threads.
#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/lib/linalg/batch.h"
#include "runtime/lib/linalg/blocks.h"
#include "runtime/lib/linalg/small_systems.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

constexpr std::int64_t kPanel = 16;  // columns that are factored one by one
// Columns of a block of a matrix of up to kNearColumns of them, of others twice as many.
constexpr std::int64_t kFewColumns = 64;
constexpr std::int64_t kNearColumns = 768;

/// One matrix, which becomes its factors.
template <class T>
class Factoring {
 public:
  /// `swaps`: the row (from 0) that comes to each of the first min(m, n) rows.
  Factoring(T* a, std::int64_t m, std::int64_t n, std::int64_t* swaps)
      : a_(a), m_(m), n_(n), swaps_(swaps), panel_(std::min({m, n, kPanel}) * m) {}
  /// Blocks of columns. While some threads bring columns up to date with a block, another one does so with those of the
  /// next block first, and factors it.
  void run() {
    const std::int64_t k = std::min(m_, n_), size = k <= kNearColumns ? kFewColumns : 2 * kFewColumns;
    if (k == n_ && k <= size) return columns(0, k);
    const std::int64_t apart = size + 16;             // so that rows do not collide in the cache
    Scratch<T> below(k > size ? 2 * m_ * apart : 0);  // of two blocks, L below them, negated
    const auto factor = [&](std::int64_t first) {
      const std::int64_t count = std::min(size, k - first);
      columns(first, count);
      const std::int64_t next = first + count;
      if (next < m_) negate(from(next, first), m_ - next, count, &below[(first / size % 2 * m_ + next) * apart], apart);
    };
    factor(0);
    for (std::int64_t first = 0, next = 0; first < k; first = next) {
      next = std::min(first + size, k);
      const std::int64_t ahead = std::min(size, n_ - next), rest = n_ - next - ahead;
      const std::int64_t tiles = ceilDiv(rest, 2 * numThreads() * kFewColumns);
      const std::int64_t width = std::max<std::int64_t>(1, tiles) * kFewColumns;
      parallelTiles(ceilDiv(ahead, size) + ceilDiv(rest, width), [&](std::int64_t i) {
        const std::int64_t column = i == 0 ? next : next + ahead + (i - 1) * width;
        const std::int64_t some = i == 0 ? ahead : std::min(width, n_ - column);
        finishRight(first, next - first, column, some);
        if (next < m_)
          addGemm<T>(m_ - next, some, next - first, {&below[(first / size % 2 * m_ + next) * apart], apart, 1},
                     from(first, column), at(next, column), n_);
        if (i == 0 && next < k) factor(next);
      });
    }
    parallelFor(ceilDiv(k, size), grainOf(k * size), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t next = (begin + 1) * size; next < k; next += size)
        swapRows(next, std::min(size, k - next), begin * size, std::min(next, end * size) - begin * size);
    });
  }

 private:
  [[nodiscard]] T* at(std::int64_t i, std::int64_t j) const { return a_ + i * n_ + j; }
  [[nodiscard]] Matrix<T> from(std::int64_t i, std::int64_t j) const { return {at(i, j), n_, 1}; }

  /// The columns [first, first + count), of which all that is left of them was taken already.
  void columns(std::int64_t first, std::int64_t count) {
    if (count <= kPanel) return panel(first, count);
    const std::int64_t left = (count / 2 + kPanel - 1) / kPanel * kPanel;
    const std::int64_t right = count - left;
    const std::int64_t next = first + left;
    columns(first, left);
    finishRight(first, left, next, right);
    subtractProduct(m_ - next, right, left, from(next, first), from(first, next), at(next, next), n_);
    columns(next, right);
    swapRows(next, right, first, left);
  }
  /// Rows [first, first + count) of U in the columns [column, column + width).
  void finishRight(std::int64_t first, std::int64_t count, std::int64_t column, std::int64_t width) {
    swapRows(first, count, column, width);
    solveTriangular(from(first, first), count, {.upper = false, .unit = true}, at(first, column), n_, width);
  }
  /// Columns lie dense in a copy.
  void panel(std::int64_t first, std::int64_t count) {
    const std::int64_t rows = m_ - first;
    T* copy = panel_.data();
    transposeMatrix(at(first, first), n_, copy, rows, count, rows, floatingDType<T>());
    factorColumns(copy, rows, rows, count, swaps_ + first);
    for (std::int64_t i = first; i < first + count; ++i) swaps_[i] += first;
    transposeMatrix(copy, rows, at(first, first), n_, rows, count, floatingDType<T>());
  }
  [[gnu::noinline]] void swapRows(std::int64_t first, std::int64_t count, std::int64_t column, std::int64_t width) {
    for (std::int64_t i = first; i < first + count; ++i)
      if (swaps_[i] != i) std::swap_ranges(at(i, column), at(i, column) + width, at(swaps_[i], column));
  }

  T* a_;
  std::int64_t m_, n_;
  std::int64_t* swaps_;
  Scratch<T> panel_;
};

/// The row (from 0) that swaps, which count rows from `first` on, bring to each place.
template <class Row>
void orderRows(const Row* swaps, Row first, std::int64_t count, std::int64_t* order, std::int64_t rows) {
  for (std::int64_t i = 0; i < rows; ++i) order[i] = i;
  for (std::int64_t i = 0; i < count; ++i) std::swap(order[i], order[swaps[i] - first]);
}

/// Is a system of n equations and m columns on the right, or are factors of a square matrix, worked on beside others?
bool isSmall(std::int64_t n, std::int64_t m) { return n >= 1 && n <= kSmallSide && m <= kSmallSide; }

/// Square matrices one after the other, each of which becomes its factors.
template <class T>
void factorTogether(T* a, std::int64_t n, std::int64_t count, std::int64_t* swaps) {
  SideBySide<T> together(n, n, count);
  for (std::int64_t i = 0; i < count; ++i) together.take(i, {a + i * n * n, n, 1});
  together.fillUp();
  together.factor(swaps);
  for (std::int64_t i = 0; i < count; ++i) together.give(i, a + i * n * n);
}

/// x[n, m] = a^-1 x of systems one after the other.
template <class T>
void solveTogether(const T* a, T* x, std::int64_t n, std::int64_t m, std::int64_t count) {
  std::int64_t swaps[kSmallTogether<T> * kSmallSide], order[kSmallSide];
  SideBySide<T> factors(n, n, count), results(n, m, count);
  for (std::int64_t i = 0; i < count; ++i) factors.take(i, {a + i * n * n, n, 1});
  factors.fillUp();
  factors.factor(swaps);
  for (std::int64_t i = 0; i < count; ++i) {
    orderRows(swaps + i * n, std::int64_t{0}, n, order, n);
    results.take(i, {x + i * n * m, m, 1}, order);
  }
  results.fillUp();
  factors.solve({.upper = false, .unit = true}, results);
  factors.solve({.upper = true, .unit = false}, results);
  for (std::int64_t i = 0; i < count; ++i) results.give(i, x + i * n * m);
}

/// x[n, m] of the rows of b that `order` names, of all in order where it is null, or with `back` the rows that it
/// moved.
template <class T>
void permuteRows(const Matrix<T>& b, const std::int64_t* order, bool back, T* x, std::int64_t n, std::int64_t m) {
  for (std::int64_t i = 0; i < n; ++i) {
    const T* from = b.data + (back || order == nullptr ? i : order[i]) * b.rowStride;
    T* to = x + (back ? order[i] : i) * m;
    if (b.columnStride == 1) {
      std::copy_n(from, m, to);
      continue;
    }
    for (std::int64_t j = 0; j < m; ++j) to[j] = from[j * b.columnStride];
  }
}

}  // namespace

template <class T>
void solveSystem(T* a, T* x, std::int64_t n, std::int64_t m) {
  std::vector<std::int64_t> swaps(static_cast<std::size_t>(n));
  Factoring<T>(a, n, n, swaps.data()).run();
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t other = swaps[static_cast<std::size_t>(i)];
    if (other != i) std::swap_ranges(x + i * m, x + (i + 1) * m, x + other * m);
  }
  solveTriangular<T>({a, n, 1}, n, {.upper = false, .unit = true}, x, m, m);
  solveTriangular<T>({a, n, 1}, n, {.upper = true, .unit = false}, x, m, m);
}
template void solveSystem(float*, float*, std::int64_t, std::int64_t);
template void solveSystem(double*, double*, std::int64_t, std::int64_t);

void lu(const LibraryCall& call) {
  const ArrayView& out = call.outputs[0];
  const std::int64_t n = out.shape.back();
  const std::int64_t m = out.shape[out.shape.size() - 2];
  const std::int64_t k = std::min(m, n);
  const std::int64_t count = numelOf(DimsRef(out.shape).first(out.shape.size() - 2));
  auto* swaps = call.outputs[1].as<std::int32_t>();
  auto* order = call.outputs[2].as<std::int64_t>();
  if (out.numel() > 0) copyArray(call.inputs[0], out);
  withFloating(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    forEachMatrix(count, m * n * k, [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t together = m == n && isSmall(n, n) ? kSmallTogether<T> : 1;
      std::vector<std::int64_t> rows(static_cast<std::size_t>(k * together));
      for (std::int64_t first = begin; first < end; first += together) {
        const std::int64_t some = std::min(together, end - first);
        T* at = out.as<T>() + first * m * n;
        if (together > 1)
          factorTogether(at, n, some, rows.data());
        else if (k > 0)
          Factoring<T>(at, m, n, rows.data()).run();
        for (std::int64_t j = 0; j < some * k; ++j)
          swaps[first * k + j] = static_cast<std::int32_t>(rows[static_cast<std::size_t>(j)]) + 1;
        for (std::int64_t i = first; i < first + some; ++i) orderRows(swaps + i * k, 1, k, order + i * m, m);
      }
    });
  });
}

void lu_order(const LibraryCall& call) {
  const Contiguous swaps(call.inputs[0]);
  const ArrayView& order = call.outputs[0];
  const std::int64_t rows = order.shape.back();
  const auto* from = swaps.as<std::int32_t>();
  for (std::int64_t i = 0; i < order.numel(); ++i)
    if (from[i] < 1 || from[i] > rows) fail("linalg.lu_solve: pivots must lie between 1 and ", rows, ", got ", from[i]);
  for (std::int64_t i = 0; i < order.numel(); i += rows)
    orderRows(from + i, 1, rows, order.as<std::int64_t>() + i, rows);
}

namespace {

/// A system whose matrix is given by its factors: the transposed ones, if it is `adjoint`, and which row of the matrix
/// each row of these is.
template <class T>
struct Factored {
  Matrix<T> factors;
  Matrix<T> right;
  const std::int64_t* order;
  bool adjoint;

  [[nodiscard]] TriangleKind first() const { return {.upper = false, .unit = !adjoint}; }
  [[nodiscard]] TriangleKind second() const { return {.upper = true, .unit = adjoint}; }
};

template <class T>
bool isUnit(const Matrix<T>& a, std::int64_t n) {
  if (a.columnStride != 1) return false;
  const std::vector<T> zeros(static_cast<std::size_t>(n));
  const auto isZero = [&](const T* from, std::int64_t count) {
    return std::memcmp(from, zeros.data(), static_cast<std::size_t>(count) * sizeof(T)) == 0;
  };
  for (std::int64_t i = 0; i < n; ++i) {
    const T* row = a.data + i * a.rowStride;
    if (!isZero(row, i) || row[i] != T(1) || !isZero(row + i + 1, n - i - 1)) return false;
  }
  return true;
}

/// x[n, m] of one; `scratch` has room for another x.
template <class T>
void solveOne(const Factored<T>& s, T* x, std::int64_t n, std::int64_t m, T* scratch) {
  T* solved = s.adjoint ? scratch : x;
  // An inverse: with the columns in the order of the rows the first triangle leaves half of it zeros.
  const bool inverse = n == m && isUnit(s.right, n);
  permuteRows(s.right, s.adjoint || inverse ? nullptr : s.order, false, solved, n, m);
  TriangleKind first = s.first();
  first.ofUnit = inverse;
  solveTriangular(s.factors, n, first, solved, m, m);
  solveTriangular(s.factors, n, s.second(), solved, m, m);
  if (s.adjoint) return permuteRows<T>({solved, m, 1}, s.order, true, x, n, m);
  if (!inverse) return;
  parallelFor(n, grainOf(n), [&](std::int64_t begin, std::int64_t end) {
    std::vector<T> row(static_cast<std::size_t>(n));
    for (T* to = x + begin * n; to != x + end * n; to += n) {
      std::copy_n(to, n, row.data());
      for (std::int64_t j = 0; j < n; ++j) to[s.order[j]] = row[static_cast<std::size_t>(j)];
    }
  });
}

/// The same of small ones side by side, x after x.
template <class T>
void solveSome(const Factored<T>* s, std::int64_t count, T* x, std::int64_t n, std::int64_t m) {
  SideBySide<T> factors(n, n, count), results(n, m, count);
  for (std::int64_t i = 0; i < count; ++i) {
    factors.take(i, s[i].factors);
    results.take(i, s[i].right, s[i].adjoint ? nullptr : s[i].order);
  }
  factors.fillUp();
  results.fillUp();
  factors.solve(s->first(), results);
  factors.solve(s->second(), results);
  for (std::int64_t i = 0; i < count; ++i) results.give(i, x + i * n * m, s[i].adjoint ? s[i].order : nullptr);
}

}  // namespace

void lu_solve(const LibraryCall& call) {
  const ArrayView& lu = call.inputs[0];
  const ArrayView& order = call.inputs[1];
  const ArrayView& b = call.inputs[2];
  const ArrayView& x = call.outputs[0];
  const bool adjoint = AttrReader(call.attrs).boolean();
  if (x.numel() == 0) return;
  const std::size_t r = x.shape.size();
  const std::int64_t n = x.shape[r - 2];
  const std::int64_t m = x.shape[r - 1];
  const DimsRef batch = DimsRef(x.shape).first(r - 2);
  withFloating(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    forEachMatrix(numelOf(batch), 2 * n * n * m, [&](std::int64_t begin, std::int64_t end) {
      Walker<3> at(
          batch,
          {DimsRef(lu.strides).first(r - 2), DimsRef(order.strides).first(r - 2), DimsRef(b.strides).first(r - 2)},
          begin);
      const std::int64_t together = isSmall(n, m) ? kSmallTogether<T> : 1;
      std::vector<std::int64_t> rows(static_cast<std::size_t>(n * together));
      Scratch<T> turned(adjoint && together == 1 ? n * m : 0);
      Factored<T> systems[kSmallTogether<T>];
      for (std::int64_t i = begin; i < end; i += together) {
        const std::int64_t some = std::min(together, end - i);
        for (std::int64_t k = 0; k < some; ++k, at.next()) {
          std::int64_t* taken = rows.data() + k * n;
          for (std::int64_t j = 0; j < n; ++j) {
            taken[j] = order.as<std::int64_t>()[at.offset[1] + j * order.strides[r - 2]];
            if (taken[j] < 0 || taken[j] >= n) fail("linalg.lu_solve: there is no row ", taken[j], " of ", n);
          }
          Matrix<T> a{lu.as<T>() + at.offset[0], lu.strides[r - 2], lu.strides[r - 1]};
          if (adjoint) std::swap(a.rowStride, a.columnStride);
          systems[k] = {a, {b.as<T>() + at.offset[2], b.strides[r - 2], b.strides[r - 1]}, taken, adjoint};
        }
        T* to = x.as<T>() + i * n * m;
        if (together > 1)
          solveSome(systems, some, to, n, m);
        else
          solveOne(systems[0], to, n, m, turned.data());
      }
    });
  });
}

void solve(const LibraryCall& call) {
  const Contiguous a(call.inputs[0]);
  const ArrayView& x = call.outputs[0];
  if (x.numel() == 0) return;
  copyArray(call.inputs[1], x);
  const std::int64_t n = x.shape[x.shape.size() - 2];
  const std::int64_t m = x.shape.back();
  withFloating(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    forEachMatrix(x.numel() / (n * m), n * n * (n + m), [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t together = isSmall(n, m) ? kSmallTogether<T> : 1;
      Scratch<T> factors(n * n);
      for (std::int64_t i = begin; i < end; i += together) {
        T* to = x.as<T>() + i * n * m;
        if (together > 1) {
          solveTogether(a.as<T>() + i * n * n, to, n, m, std::min(together, end - i));
          continue;
        }
        std::copy_n(a.as<T>() + i * n * n, n * n, factors.data());
        solveSystem(factors.data(), to, n, m);
      }
    });
  });
}

}  // namespace tandem::lib
