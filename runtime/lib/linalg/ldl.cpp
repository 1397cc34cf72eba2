// L D L^T of symmetric matrices with the pivoting of Bunch and Kaufman (Golub, Van Loan, "Matrix computations", 4.4.4),
// and systems of equations by it. The lower triangle is read. Factors and pivots are laid out as LAPACK's sytrf does:
// a pivot p > 0 is a diagonal block of one row, which came from row p; two equal ones p < 0 are a block of two rows, of
// which the second came from row -p.
#include <algorithm>
#include <cmath>

#include "runtime/lib/linalg/batch.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

/// One matrix by columns: element (i, j) at [j * n + i], i >= j.
template <class T>
class Factoring {
 public:
  Factoring(T* a, std::int64_t n, std::int32_t* pivots) : a_(a), n_(n), pivots_(pivots) {}

  /// 0, or the place (from 1) of the first block that is zero.
  std::int32_t run() {
    std::int32_t info = 0;
    for (std::int64_t k = 0; k < n_;) {
      const auto [row, size] = choose(k);
      const std::int64_t last = k + size - 1;
      if (row != last) swapRows(k, last, row);
      for (std::int64_t i = k; i <= last; ++i) pivots_[i] = static_cast<std::int32_t>(size == 1 ? row + 1 : -(row + 1));
      if (size == 2)
        eliminateTwo(k);
      else if (isZero(k))
        info = info == 0 ? static_cast<std::int32_t>(k) + 1 : info;
      else
        eliminateOne(k);
      k += size;
    }
    return info;
  }

 private:
  struct Pivot {
    std::int64_t row, size;
  };
  [[nodiscard]] T& at(std::int64_t i, std::int64_t j) const { return a_[j * n_ + i]; }
  [[nodiscard]] std::int64_t largestBelow(std::int64_t k) const {
    std::int64_t place = k + 1;
    for (std::int64_t i = k + 2; i < n_; ++i)
      if (std::abs(at(i, k)) > std::abs(at(place, k))) place = i;
    return place;
  }
  /// A column of zeros, or one whose diagonal is no number: nothing is taken from the rest.
  [[nodiscard]] bool isZero(std::int64_t k) const {
    if (std::isnan(at(k, k))) return true;
    return at(k, k) == 0 && (k + 1 == n_ || at(largestBelow(k), k) == 0);
  }
  [[nodiscard]] Pivot choose(std::int64_t k) const {
    static const T alpha = (1 + std::sqrt(T(17))) / 8;
    const T diagonal = std::abs(at(k, k));
    if (k + 1 == n_ || isZero(k)) return {k, 1};
    const std::int64_t row = largestBelow(k);
    const T below = std::abs(at(row, k));
    if (diagonal >= alpha * below) return {k, 1};
    T across = 0;
    for (std::int64_t j = k; j < row; ++j) across = std::max(across, std::abs(at(row, j)));
    for (std::int64_t i = row + 1; i < n_; ++i) across = std::max(across, std::abs(at(i, row)));
    if (diagonal >= alpha * below * (below / across)) return {k, 1};
    if (std::abs(at(row, row)) >= alpha * across) return {row, 1};
    return {row, 2};
  }
  /// Rows and columns `to` and `from` > `to` of what is left, from column k on.
  void swapRows(std::int64_t k, std::int64_t to, std::int64_t from) {
    std::swap_ranges(&at(from, to) + 1, &at(n_ - 1, to) + 1, &at(from, from) + 1);
    for (std::int64_t i = to + 1; i < from; ++i) std::swap(at(i, to), at(from, i));
    std::swap(at(to, to), at(from, from));
    if (to > k) std::swap(at(to, k), at(from, k));
  }
  void eliminateOne(std::int64_t k) {
    const T inverse = 1 / at(k, k);
    const T* column = a_ + k * n_;
    for (std::int64_t j = k + 1; j < n_; ++j) {
      const T factor = inverse * column[j];
      T* to = a_ + j * n_;
      for (std::int64_t i = j; i < n_; ++i) to[i] -= column[i] * factor;
    }
    for (std::int64_t i = k + 1; i < n_; ++i) at(i, k) *= inverse;
  }
  void eliminateTwo(std::int64_t k) {
    T* first = a_ + k * n_;
    T* second = first + n_;
    const T off = first[k + 1];
    const T high = second[k + 1] / off;
    const T low = first[k] / off;
    const T scale = 1 / (high * low - 1) / off;
    for (std::int64_t j = k + 2; j < n_; ++j) {
      const T a = scale * (high * first[j] - second[j]);
      const T b = scale * (low * second[j] - first[j]);
      T* to = a_ + j * n_;
      for (std::int64_t i = j; i < n_; ++i) to[i] -= first[i] * a + second[i] * b;
      first[j] = a;
      second[j] = b;
    }
  }

  T* a_;
  std::int64_t n_;
  std::int32_t* pivots_;
};

void needPivots(const std::int32_t* pivots, std::int64_t n) {
  for (std::int64_t k = 0; k < n; ++k) {
    if (pivots[k] == 0 || std::abs(std::int64_t{pivots[k]}) > n)
      fail("linalg.ldl_solve: pivots must lie between 1 and ", n, " or be the negative of such, got ", pivots[k]);
    if (pivots[k] > 0) continue;
    if (k + 1 == n || pivots[k + 1] != pivots[k])
      fail("linalg.ldl_solve: a negative pivot must stand twice, got ", pivots[k], " at ", k);
    ++k;
  }
}

/// x[n, m] becomes A^-1 x; element (i, j) of the factors at l[i * row + j * column].
template <class T>
class Solving {
 public:
  Solving(const T* l, std::int64_t row, std::int64_t column, const std::int32_t* pivots, T* x, std::int64_t n,
          std::int64_t m)
      : l_(l), row_(row), column_(column), pivots_(pivots), x_(x), n_(n), m_(m) {}

  void run() {
    for (std::int64_t k = 0; k < n_; k += isPair(k) ? 2 : 1) isPair(k) ? forwardTwo(k) : forwardOne(k);
    for (std::int64_t k = n_; k > 0;) k = back(k);
  }

 private:
  [[nodiscard]] bool isPair(std::int64_t k) const { return pivots_[k] < 0; }
  [[nodiscard]] T l(std::int64_t i, std::int64_t j) const { return l_[i * row_ + j * column_]; }
  void swapRows(std::int64_t i) const {
    const std::int64_t other = std::abs(std::int64_t{pivots_[i]}) - 1;
    if (other != i) std::swap_ranges(x_ + i * m_, x_ + i * m_ + m_, x_ + other * m_);
  }
  void subtract(std::int64_t to, std::int64_t from, T factor) const {
    for (std::int64_t j = 0; j < m_; ++j) x_[to * m_ + j] -= factor * x_[from * m_ + j];
  }
  void forwardOne(std::int64_t k) const {
    swapRows(k);
    for (std::int64_t i = k + 1; i < n_; ++i) subtract(i, k, l(i, k));
    for (std::int64_t j = 0; j < m_; ++j) x_[k * m_ + j] /= l(k, k);
  }
  void forwardTwo(std::int64_t k) const {
    swapRows(k + 1);
    for (std::int64_t i = k + 2; i < n_; ++i) subtract(i, k, l(i, k)), subtract(i, k + 1, l(i, k + 1));
    const T off = l(k + 1, k);
    const T low = l(k, k) / off;
    const T high = l(k + 1, k + 1) / off;
    const T scale = low * high - 1;
    T* first = x_ + k * m_;
    for (std::int64_t j = 0; j < m_; ++j) {
      const T a = first[j] / off;
      const T b = first[m_ + j] / off;
      first[j] = (high * a - b) / scale;
      first[m_ + j] = (low * b - a) / scale;
    }
  }
  /// The block that ends before `end`; where it begins.
  std::int64_t back(std::int64_t end) const {
    const std::int64_t k = end - 1;
    const std::int64_t begin = isPair(k) ? k - 1 : k;
    for (std::int64_t j = begin; j < end; ++j)
      for (std::int64_t i = end; i < n_; ++i) subtract(j, i, l(i, j));
    swapRows(k);
    return begin;
  }

  const T* l_;
  std::int64_t row_, column_;
  const std::int32_t* pivots_;
  T* x_;
  std::int64_t n_, m_;
};

}  // namespace

void ldl(const LibraryCall& call) {
  const Contiguous in(call.inputs[0]);
  const ArrayView& out = call.outputs[0];
  const std::int64_t n = out.shape.back();
  auto* pivots = call.outputs[1].as<std::int32_t>();
  auto* info = call.outputs[2].as<std::int32_t>();
  std::fill_n(info, call.outputs[2].numel(), 0);
  if (out.numel() == 0) return;
  withFloating(out.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    forEachMatrix(out.numel() / (n * n), n * n * n, [&](std::int64_t begin, std::int64_t end) {
      Scratch<T> columns(n * n);
      for (std::int64_t b = begin; b < end; ++b) {
        transposeMatrix(in.as<T>() + b * n * n, n, columns.data(), n, n, n, out.dtype);
        info[b] = Factoring<T>(columns.data(), n, pivots + b * n).run();
        T* to = out.as<T>() + b * n * n;
        transposeMatrix(columns.data(), n, to, n, n, n, out.dtype);
        for (std::int64_t i = 0; i < n; ++i) std::fill(to + i * n + i + 1, to + (i + 1) * n, T());
      }
    });
  });
}

void ldl_solve(const LibraryCall& call) {
  const ArrayView& l = call.inputs[0];
  const Contiguous pivots(call.inputs[1]);
  const ArrayView& x = call.outputs[0];
  const std::size_t r = x.shape.size();
  const std::int64_t n = x.shape[r - 2];
  const std::int64_t m = x.shape[r - 1];
  for (std::int64_t i = 0; i < pivots.view().numel(); i += n) needPivots(pivots.as<std::int32_t>() + i, n);
  if (x.numel() == 0) return;
  copyArray(call.inputs[2], x);
  const DimsRef batch = DimsRef(x.shape).first(r - 2);
  withFloating(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    forEachMatrix(numelOf(batch), 2 * n * n * m, [&](std::int64_t begin, std::int64_t end) {
      Walker<1> at(batch, {DimsRef(l.strides).first(r - 2)}, begin);
      for (std::int64_t b = begin; b < end; ++b, at.next())
        Solving<T>(l.as<T>() + at.offset[0], l.strides[r - 2], l.strides[r - 1], pivots.as<std::int32_t>() + b * n,
                   x.as<T>() + b * n * m, n, m)
            .run();
    });
  });
}

}  // namespace tandem::lib
