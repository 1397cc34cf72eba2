// The X of least |A X - B|. QR serves where A has full rank for certain: its condition is at most |R| |R^-1| in the
// Frobenius norm, or less. Otherwise QR with pivoting does, which stops at the column that would make the condition of
// the triangle larger than wanted, as it is estimated on the way (Bischof, 1990): LAPACK's gelsy.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/lib/linalg/batch.h"
#include "runtime/lib/linalg/blocks.h"
#include "runtime/lib/linalg/columns.h"
#include "runtime/lib/linalg/reflectors.h"

namespace tandem::lib {
namespace {

/// In some sums side by side: one addition need not wait for the one before.
template <class T>
T norm(const ColumnMatrix<T>& x) {
  constexpr std::size_t count = 8;
  double sums[count] = {};
  std::size_t i = 0;
  for (; i + count <= x.elements.size(); i += count)
    for (std::size_t k = 0; k < count; ++k) {
      const auto value = static_cast<double>(x.elements[i + k]);
      sums[k] += value * value;
    }
  for (; i < x.elements.size(); ++i) sums[0] += static_cast<double>(x.elements[i]) * static_cast<double>(x.elements[i]);
  return static_cast<T>(std::sqrt(std::accumulate(sums, sums + count, 0.0)));
}

/// About the largest or the smallest singular value of a triangle that grows by columns: |x^T R| of a unit vector x
/// that is near to the singular one.
template <class T>
class GrowingValue {
 public:
  enum class Which : std::uint8_t { Largest, Smallest };
  GrowingValue(Which which, T first) : which_(which), value_(std::abs(first)), x_{1} {}

  /// What it is with one column more: those above the diagonal, and the element there.
  [[nodiscard]] T next(const T* above, T diagonal) {
    // x and the new row are combined to [s x, c]: its size is that of [[value, 0], [alpha, diagonal]] times [s, c].
    const double alpha = std::inner_product(x_.begin(), x_.end(), above, 0.0);
    const double value = value_, gamma = diagonal, scale = std::max({value, std::abs(alpha), std::abs(gamma)});
    if (scale == 0) return next_ = 0;
    const double v = value / scale, a = alpha / scale, g = gamma / scale;
    const double angle = std::atan2(2 * a * g, v * v + a * a - g * g) / 2;
    s_ = std::cos(angle), c_ = std::sin(angle);
    double found = (std::hypot(v + std::abs(g), a) + std::hypot(v - std::abs(g), a)) / 2;
    if (which_ == Which::Smallest) {
      s_ = -std::exchange(c_, s_);
      found = v * std::abs(g) / found;
    }
    return next_ = static_cast<T>(found * scale);
  }
  /// Takes that column.
  void grow() {
    for (T& e : x_) e *= static_cast<T>(s_);
    x_.push_back(static_cast<T>(c_));
    value_ = next_;
  }

 private:
  Which which_;
  T value_, next_ = 0;
  double s_ = 1, c_ = 0;
  std::vector<T> x_;
};

/// a P = Q R, the columns of R in order of their sizes, up to the first one that makes its condition times `rcond`
/// larger than 1.
template <class T>
class PivotedQr {
 public:
  PivotedQr(ColumnMatrix<T> a, T rcond) : a_(std::move(a)), places_(asSize(a_.columns)) {
    std::iota(places_.begin(), places_.end(), 0);
    for (std::int64_t j = 0; j < a_.columns; ++j) sizes_.push_back(sizeBelow(0, j));
    exact_ = sizes_;
    factor(rcond);
  }
  [[nodiscard]] std::int64_t rank() const { return std::ssize(tau_); }
  /// Which column of `a` is column j of R.
  [[nodiscard]] std::int64_t place(std::int64_t j) const { return places_[asSize(j)]; }
  [[nodiscard]] Reflectors<T> q() const {
    Reflectors<T> taken{ColumnMatrix<T>(a_.rows, rank()), tau_};
    std::copy_n(a_.at(0, 0), a_.rows * rank(), taken.vectors.at(0, 0));
    return taken;
  }
  /// R^T, `rank` columns.
  [[nodiscard]] ColumnMatrix<T> turned() const {
    ColumnMatrix<T> made(a_.columns, rank());
    for (std::int64_t j = 0; j < a_.columns; ++j)
      for (std::int64_t i = 0; i < std::min(j + 1, rank()); ++i) *made.at(j, i) = *a_.at(i, j);
    return made;
  }

 private:
  [[nodiscard]] T sizeBelow(std::int64_t row, std::int64_t j) const {
    const T* column = a_.at(0, j);
    return static_cast<T>(std::sqrt(std::inner_product(column + row, column + a_.rows, column + row, 0.0)));
  }
  void factor(T rcond) {
    using Value = GrowingValue<T>;
    std::optional<Value> largest, smallest;
    for (std::int64_t i = 0; i < std::min(a_.rows, a_.columns); ++i) {
      bringLargest(i);
      T* column = a_.at(0, i);
      const T tau = makeReflector(column + i, a_.rows - i);
      if (i == 0) {
        if (column[0] == 0) return;
        largest.emplace(Value::Which::Largest, column[0]);
        smallest.emplace(Value::Which::Smallest, column[0]);
      } else {
        const T high = largest->next(column, column[i]), low = smallest->next(column, column[i]);
        if (!(high * rcond <= low)) return;
        largest->grow(), smallest->grow();
      }
      tau_.push_back(tau);
      applyToRest(i);
    }
  }
  /// The largest of the columns from i on comes to place i.
  void bringLargest(std::int64_t i) {
    const std::int64_t most = std::max_element(sizes_.begin() + i, sizes_.end()) - sizes_.begin();
    if (most == i) return;
    std::swap_ranges(a_.at(0, i), a_.at(0, i) + a_.rows, a_.at(0, most));
    std::swap(places_[asSize(i)], places_[asSize(most)]);
    sizes_[asSize(most)] = sizes_[asSize(i)];
    exact_[asSize(most)] = exact_[asSize(i)];
  }
  void applyToRest(std::int64_t i) {
    const std::int64_t rest = a_.columns - i - 1, below = a_.rows - i;
    if (rest == 0) return;
    const T diagonal = std::exchange(*a_.at(i, i), T(1));
    std::vector<T> sums(asSize(rest));
    project(a_.at(i, i + 1), a_.rows, below, rest, a_.at(i, i), sums.data());
    for (std::int64_t j = 0; j < rest; ++j)
      addScaled(-tau_.back() * sums[asSize(j)], a_.at(i, i), a_.at(i, i + 1 + j), below);
    *a_.at(i, i) = diagonal;
    for (std::int64_t j = i + 1; j < a_.columns; ++j) takeRow(i, j);
  }
  /// What is left of column j's size below row i; computed afresh where what was taken off makes it unsure.
  void takeRow(std::int64_t i, std::int64_t j) {
    T& size = sizes_[asSize(j)];
    T& exact = exact_[asSize(j)];
    if (size == 0) return;
    const T part = std::abs(*a_.at(i, j)) / size, left = std::max(T(0), (1 - part) * (1 + part));
    const T ratio = size / exact;
    if (left * ratio * ratio > std::sqrt(std::numeric_limits<T>::epsilon()))
      size *= std::sqrt(left);
    else
      size = exact = sizeBelow(i + 1, j);
  }

  ColumnMatrix<T> a_;
  std::vector<std::int64_t> places_;
  std::vector<T> sizes_, exact_;  // of the columns below what is done
  std::vector<T> tau_;
};

template <class T>
class LeastSquares {
 public:
  /// a[m, n], b[m, right], x[n, right], row-major.
  LeastSquares(const T* a, std::int64_t m, std::int64_t n, const T* b, std::int64_t right, T rcond)
      : a_(a), b_(b), m_(m), n_(n), right_(right), rcond_(rcond) {}

  /// Writes x and returns the rank.
  std::int64_t run(T* x) const {
    const bool tall = m_ >= n_;
    const std::int64_t k = std::min(m_, n_);
    const Reflectors<T> qr = factorQr(ColumnMatrix<T>::tallOf(a_, m_, n_));
    const Matrix<T> r{qr.vectors.at(0, 0), 1, qr.vectors.rows};
    if (!isFullRank(triangleOf(qr))) return byPivots(x);
    if (tall) {
      auto turned = ColumnMatrix<T>::ofRows(b_, m_, right_);
      applyReflectors(qr, Reflect::Transposed, turned);
      transposeMatrix(turned.elements.data(), m_, x, right_, k, right_, floatingDType<T>());
      solveTriangular(r, k, {.upper = true}, x, right_, right_);
      return k;
    }
    std::copy_n(b_, k * right_, x);
    solveTriangular<T>({r.data, r.columnStride, 1}, k, {}, x, right_, right_);
    ColumnMatrix<T> found(n_, right_);
    transposeMatrix(x, right_, found.elements.data(), n_, right_, k, floatingDType<T>());
    applyReflectors(qr, Reflect::Plain, found);
    found.writeRows(x);
    return k;
  }

 private:
  [[nodiscard]] bool isFullRank(ColumnMatrix<T> triangle) const {
    const std::int64_t k = triangle.columns;
    auto inverse = ColumnMatrix<T>::unit(k, k);
    solveTriangular<T>({triangle.at(0, 0), 1, k}, k, {.upper = true, .ofUnit = true}, inverse.elements.data(), k, k);
    const T size = norm(triangle);
    // Of a wide matrix the columns that are pivots alone are looked at, whose condition may be larger than the whole's.
    const T rcond = m_ >= n_ ? rcond_ : rcond_ * static_cast<T>(n_);
    const T condition = size * norm(inverse);
    if (!(rcond >= 0 && condition > 0)) return false;  // nor where it is NaN
    // |R| is up to sqrt(k) times the largest value. Of (R^T R)^2, whose values are fourth powers, that is less.
    if (condition * rcond < 1) return true;
    if (condition * rcond / std::sqrt(static_cast<T>(k)) >= 1) return false;
    for (T& value : triangle.elements) value /= size;
    for (int power = 2; power <= 4; power *= 2) {
      ColumnMatrix<T> product(k, k);
      gemm(k, k, k, Matrix<T>{triangle.at(0, 0), k, 1}, Matrix<T>{triangle.at(0, 0), 1, k}, product.at(0, 0));
      triangle = std::move(product);
      constexpr T rounding = 1.01;
      const T largest = rounding * std::pow(norm(triangle), T(1) / static_cast<T>(power));
      if (condition * largest * rcond < 1) return true;
    }
    return false;
  }
  std::int64_t byPivots(T* x) const {
    if (!isFinite(a_, m_ * n_)) {
      std::fill_n(x, n_ * right_, std::numeric_limits<T>::quiet_NaN());
      return 0;
    }
    auto scaled = ColumnMatrix<T>::ofRows(a_, m_, n_);
    const T size = takeSize(scaled);
    const PivotedQr<T> qr(std::move(scaled), rcond_);
    const std::int64_t rank = qr.rank();
    std::fill_n(x, n_ * right_, T(0));
    if (rank == 0 || right_ == 0) return rank;
    auto turned = ColumnMatrix<T>::ofRows(b_, m_, right_);
    applyReflectors(qr.q(), Reflect::Transposed, turned);
    Scratch<T> inside(rank * right_);
    transposeMatrix(turned.elements.data(), m_, inside.data(), right_, rank, right_, floatingDType<T>());
    // Of all solutions of R X = inside the one of least norm, by QR of R^T.
    const Reflectors<T> across = factorQr(qr.turned());
    solveTriangular<T>({across.vectors.at(0, 0), n_, 1}, rank, {}, inside.data(), right_, right_);
    ColumnMatrix<T> found(n_, right_);
    transposeMatrix(inside.data(), right_, found.elements.data(), n_, right_, rank, floatingDType<T>());
    applyReflectors(across, Reflect::Plain, found);
    for (std::int64_t j = 0; j < n_; ++j)
      for (std::int64_t i = 0; i < right_; ++i) x[qr.place(j) * right_ + i] = *found.at(j, i) / size;
    return rank;
  }

  const T *a_, *b_;
  std::int64_t m_, n_, right_;
  T rcond_;
};

}  // namespace

void lstsq(const LibraryCall& call) {
  const Contiguous matrices(call.inputs[0]);
  const Contiguous rights(call.inputs[1]);
  const ArrayView& out = call.outputs[0];
  const Batch a(matrices.view());
  const Batch b(rights.view());
  const Batch x(out);
  auto* ranks = call.outputs[1].as<std::int64_t>();
  if (a.count == 0 || b.count == 0) {
    // Without elements of A every X is as good: the one of least norm.
    std::fill_n(out.as<char>(), out.numel() * static_cast<std::int64_t>(itemSize(out.dtype)), char());
    std::fill_n(ranks, call.outputs[1].numel(), 0);
    if (a.count == 0) return;
  }
  forEachOf(a, a.size() * std::min(a.rows, a.columns), [&](auto tag, std::int64_t i) {
    using T = typename decltype(tag)::Type;
    const T* right = rights.as<T>() + i * b.size();
    T* found = out.as<T>() + i * x.size();
    ranks[i] = LeastSquares<T>(a.at<T>(i), a.rows, a.columns, right, b.columns, *call.inputs[2].as<T>()).run(found);
  });
}

}  // namespace tandem::lib
