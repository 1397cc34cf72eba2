// Bidiagonal and tridiagonal matrices by reflectors. Those of some columns at a time are found without changing what is
// to the right of them: a column gets what they do to it when it is its turn, the rest by one product behind the last
// (Dongarra, Sorensen, Hammarling, "Block reduction of matrices to condensed forms", 1989).
#include <algorithm>
#include <utility>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/linalg/blocks.h"
#include "runtime/lib/linalg/columns.h"
#include "runtime/lib/linalg/reflectors.h"

namespace tandem::lib {
namespace {

/// Columns whose reflectors are found together.
constexpr std::int64_t kBlock = 32;
/// Columns of a symmetric matrix that lose together what is on and below the diagonal.
constexpr std::int64_t kStrip = 96;

/// Some columns of a matrix, those from `first` on, seen from a row.
template <class T>
struct Panel {
  const ColumnMatrix<T>* of;
  std::int64_t first;
  [[nodiscard]] const T* from(std::int64_t row) const { return of->at(row, first); }
};

/// to -= a b^T: the rows of a from `row` on, row `other` of b, of so many columns.
template <class T>
void takeRow(const Panel<T>& a, const Panel<T>& b, std::int64_t row, std::int64_t other, std::int64_t columns, T* to) {
  if (columns == 0) return;
  T factors[kBlock];
  for (std::int64_t j = 0; j < columns; ++j) factors[j] = -b.from(other)[j * b.of->rows];
  combine(a.from(row), a.of->rows, a.of->rows - row, columns, factors, to);
}

/// to -= a (b^T x), of the rows of a from `row` on and those of b from `other` on.
template <class T>
void takeProduct(const Panel<T>& a, const Panel<T>& b, std::int64_t row, std::int64_t other, std::int64_t columns,
                 const T* x, T* to) {
  if (columns == 0) return;
  T sums[kBlock];
  project(b.from(other), b.of->rows, b.of->rows - other, columns, x, sums);
  for (std::int64_t j = 0; j < columns; ++j) sums[j] = -sums[j];
  combine(a.from(row), a.of->rows, a.of->rows - row, columns, sums, to);
}

template <class T>
void scaled(T factor, T* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) x[i] *= factor;
}

/// Two panels side by side, from a row on.
template <class T>
void copyBeside(const Panel<T>& a, const Panel<T>& b, std::int64_t row, std::int64_t columns, T* to) {
  const std::int64_t rows = a.of->rows - row;
  for (const Panel<T>* p : {&a, &b})
    for (std::int64_t j = 0; j < columns; ++j, to += rows) std::copy_n(p->from(row) + j * p->of->rows, rows, to);
}

/// The rows and columns of a from `last` on lose v y^T + x u^T. If `lower`, what lies above the diagonal is not needed.
template <class T>
void takePanels(ColumnMatrix<T>& a, std::int64_t last, const Panel<T>& v, const Panel<T>& y, const Panel<T>& x,
                const Panel<T>& u, std::int64_t columns, bool lower) {
  const std::int64_t rows = a.rows - last;
  const std::int64_t across = a.columns - last;
  if (across == 0) return;
  Scratch<T> left(2 * columns * across), right(2 * columns * rows);
  copyBeside(y, u, last, columns, left.data());
  copyBeside(v, x, last, columns, right.data());
  const std::int64_t width = lower ? kStrip : across;
  parallelTiles(ceilDiv(across, width), [&](std::int64_t i) {
    const std::int64_t from = i * width, row = lower ? from : 0;
    subtractProduct<T>(std::min(width, across - from), rows - row, 2 * columns, {left.data() + from, 1, across},
                       {right.data() + row, rows, 1}, a.at(last + row, last + from), a.rows);
  });
}

template <class T>
class Bidiagonalizer {
 public:
  explicit Bidiagonalizer(ColumnMatrix<T> a)
      : m_(a.rows), n_(a.columns), a_(std::move(a)), u_(n_, n_), x_(m_, kBlock), y_(n_, kBlock) {
    b_.diagonal.resize(asSize(n_));
    b_.above.resize(asSize(n_ - 1));
    b_.left.tau.resize(asSize(n_));
    b_.right.tau.resize(asSize(n_ - 1));
  }

  Bidiagonal<T> run() {
    for (std::int64_t first = 0; first < n_; first += kBlock) {
      const std::int64_t last = std::min(first + kBlock, n_);
      for (std::int64_t i = first; i < last; ++i) {
        column(i, i - first);
        if (i + 1 < n_) row(i, i - first);
      }
      const Panel<T> v{&a_, first}, u{&u_, first}, x{&x_, 0}, y{&y_, 0};
      takePanels(a_, last, v, y, x, u, last - first, false);
    }
    b_.left.vectors = std::move(a_);
    b_.right.vectors = std::move(u_);
    b_.right.shift = 1;
    return std::move(b_);
  }

 private:
  /// Column i, behind k others of its panel.
  void column(std::int64_t i, std::int64_t k) {
    const std::int64_t first = i - k;
    const Panel<T> v{&a_, first}, u{&u_, first}, x{&x_, 0}, y{&y_, 0};
    T* own = a_.at(i, i);
    takeRow(v, y, i, i, k, own);
    takeRow(x, u, i, i, k, own);
    const T tau = b_.left.tau[asSize(i)] = makeReflector(own, m_ - i);
    b_.diagonal[asSize(i)] = static_cast<double>(own[0]);
    own[0] = 1;
    if (i + 1 == n_) return;
    T* to = y_.at(i + 1, k);
    project(a_.at(i, i + 1), m_, m_ - i, n_ - i - 1, own, to);
    takeProduct(y, v, i + 1, i, k, own, to);
    takeProduct(u, x, i + 1, i, k, own, to);
    scaled(tau, to, n_ - i - 1);
  }
  /// What is to the right of it.
  void row(std::int64_t i, std::int64_t k) {
    const std::int64_t first = i - k;
    const Panel<T> v{&a_, first}, u{&u_, first}, x{&x_, 0}, y{&y_, 0};
    T* own = u_.at(i + 1, i);
    for (std::int64_t j = i + 1; j < n_; ++j) own[j - i - 1] = *a_.at(i, j);
    takeRow(y, v, i + 1, i, k + 1, own);
    takeRow(u, x, i + 1, i, k, own);
    const T tau = b_.right.tau[asSize(i)] = makeReflector(own, n_ - i - 1);
    b_.above[asSize(i)] = static_cast<double>(own[0]);
    own[0] = 1;
    T* to = x_.at(i + 1, k);
    std::fill_n(to, m_ - i - 1, T());
    combine(a_.at(i + 1, i + 1), m_, m_ - i - 1, n_ - i - 1, own, to);
    takeProduct(v, y, i + 1, i + 1, k + 1, own, to);
    takeProduct(x, u, i + 1, i + 1, k, own, to);
    scaled(tau, to, m_ - i - 1);
  }

  std::int64_t m_, n_;
  ColumnMatrix<T> a_, u_;  // reflectors of columns, where they were, and of rows, a column each
  ColumnMatrix<T> x_, y_;  // what those of a panel do from the right and from the left
  Bidiagonal<T> b_;
};

template <class T>
class Tridiagonalizer {
 public:
  explicit Tridiagonalizer(ColumnMatrix<T> a) : n_(a.rows), a_(std::move(a)), w_(n_, kBlock) {
    t_.diagonal.resize(asSize(n_));
    t_.beside.resize(asSize(n_ - 1));
    t_.q.tau.resize(asSize(n_ - 1));
  }

  Tridiagonal<T> run() {
    for (std::int64_t first = 0; first < n_; first += kBlock) {
      const std::int64_t last = std::min(first + kBlock, n_);
      for (std::int64_t i = first; i < last; ++i) column(i, i - first);
      const Panel<T> v{&a_, first}, w{&w_, 0};
      takePanels(a_, last, v, w, w, v, last - first, true);
    }
    t_.q.vectors = std::move(a_);
    t_.q.shift = 1;
    return std::move(t_);
  }

 private:
  /// Column i, behind k others of its panel.
  void column(std::int64_t i, std::int64_t k) {
    const Panel<T> v{&a_, i - k}, w{&w_, 0};
    T* own = a_.at(i, i);
    takeRow(v, w, i, i, k, own);
    takeRow(w, v, i, i, k, own);
    t_.diagonal[asSize(i)] = static_cast<double>(own[0]);
    const std::int64_t rows = n_ - i - 1;
    if (rows == 0) return;
    ++own;
    const T tau = t_.q.tau[asSize(i)] = makeReflector(own, rows);
    t_.beside[asSize(i)] = static_cast<double>(own[0]);
    own[0] = 1;
    T* to = w_.at(i + 1, k);
    projectSymmetric(a_.at(i + 1, i + 1), n_, rows, i + 1, own, to);
    takeProduct(v, w, i + 1, i + 1, k, own, to);
    takeProduct(w, v, i + 1, i + 1, k, own, to);
    scaled(tau, to, rows);
    T along = 0;
    project(to, rows, rows, 1, own, &along);
    addScaled(-tau / 2 * along, own, to, rows);
  }

  std::int64_t n_;
  ColumnMatrix<T> a_, w_;
  Tridiagonal<T> t_;
};

}  // namespace

template <class T>
Bidiagonal<T> toBidiagonal(ColumnMatrix<T> a) {
  return Bidiagonalizer<T>(std::move(a)).run();
}
template <class T>
Tridiagonal<T> toTridiagonal(ColumnMatrix<T> a) {
  return Tridiagonalizer<T>(std::move(a)).run();
}
template Bidiagonal<float> toBidiagonal(ColumnMatrix<float>);
template Bidiagonal<double> toBidiagonal(ColumnMatrix<double>);
template Tridiagonal<float> toTridiagonal(ColumnMatrix<float>);
template Tridiagonal<double> toTridiagonal(ColumnMatrix<double>);

}  // namespace tandem::lib
