#include "runtime/lib/linalg/bidiagonal.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "runtime/lib/linalg/secular_equation.h"
#include "runtime/lib/linalg/split_columns.h"

namespace tandem::lib {
namespace {

std::size_t asSize(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Of a part with all numbers below this, beside a matrix with some near 1, no value matters to the last bit.
constexpr double kSmallestPart = std::numeric_limits<double>::epsilon();

/// The middle of two halves, whose values are d but for the row between, z. Which columns stay as they are, and which
/// the equation mixes.
template <class T>
class Merge {
 public:
  /// `row`: the place of the row between, where d is 0.
  Merge(double* d, std::vector<double> z, std::int64_t row, double tolerated, SplitColumns<T> left,
        SplitColumns<T> right)
      : d_(d), size_(std::ssize(z)), z_(std::move(z)), tolerated_(tolerated), left_(std::move(left)),
        right_(std::move(right)) {
    kept_.push_back(row);
    double& own = z_[asSize(row)];
    if (std::abs(own) <= tolerated) own = std::copysign(tolerated, own);
  }

  void run(bool vectors) {
    deflate();
    std::vector<double> d, z;
    for (const std::int64_t j : kept_) {
      d.push_back(d_[j]);
      z.push_back(z_[asSize(j)]);
    }
    const SecularEquation equation(std::move(d), std::move(z), 1, SecularEquation::Poles::Squares);
    for (std::size_t i = 0; i < kept_.size(); ++i) d_[kept_[i]] = equation.zero(static_cast<std::int64_t>(i));
    std::vector<std::int64_t> order(asSize(size_));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater(), [&](std::int64_t j) { return d_[j]; });
    std::vector<double> values(d_, d_ + size_);
    for (std::int64_t j = 0; j < size_; ++j) d_[j] = values[asSize(order[asSize(j)])];
    right_.replace(kept_, equation.vectors(), order);
    if (vectors) left_.replace(kept_, equation.leftVectors(), order);
  }

 private:
  /// Leaves out columns that have no part in z, and of two with nearly one value turns one so that it has none.
  void deflate() {
    std::vector<std::int64_t> order;
    for (std::int64_t j = 0; j < size_; ++j)
      if (j != kept_.front()) order.push_back(j);
    std::ranges::stable_sort(order, {}, [&](std::int64_t j) { return d_[j]; });
    for (const std::int64_t j : order) {
      const double z = z_[asSize(j)];
      if (std::abs(z) <= tolerated_) continue;
      d_[j] = std::max(d_[j], tolerated_ / 2);  // apart from the 0 of the row
      if (kept_.size() > 1 && isTurned(j, kept_.back())) continue;
      kept_.push_back(j);
    }
  }
  bool isTurned(std::int64_t j, std::int64_t other) {
    const double length = std::hypot(z_[asSize(j)], z_[asSize(other)]);
    const double c = z_[asSize(j)] / length;
    const double s = z_[asSize(other)] / length;
    if ((d_[j] - d_[other]) * std::abs(c * s) > tolerated_) return false;
    left_.turn(other, j, c, s);
    right_.turn(other, j, c, s);
    const double low = d_[other];
    const double high = d_[j];
    d_[other] = c * c * low + s * s * high;
    d_[j] = s * s * low + c * c * high;
    z_[asSize(j)] = length;
    kept_.back() = j;
    return true;
  }

  double* d_;
  std::int64_t size_;
  std::vector<double> z_;
  double tolerated_;
  SplitColumns<T> left_, right_;
  std::vector<std::int64_t> kept_;  // the row between, then columns with a part in z, by value
};

/// The columns of v of which only the first and the last row are needed, for values alone, are two rows.
template <class T>
class Halves {
 public:
  Halves(double* d, const double* e, std::int64_t n, T* u, T* v) : d_(d), e_(e), n_(n), u_(u), v_(v) {}

  /// The rows [at, at + n), with one more column if `extra`.
  bool solve(std::int64_t at, std::int64_t n, bool extra) {
    if (n <= kSmallBidiagonal) return solveSmall(at, n, extra);
    const std::int64_t upper = n / 2;
    if (!solve(at, upper, true) || !solve(at + upper + 1, n - upper - 1, extra)) return false;
    merge(at, n, extra, upper);
    return true;
  }

 private:
  [[nodiscard]] bool hasVectors() const { return u_ != nullptr; }
  /// Of v: that of a part, or its two rows.
  [[nodiscard]] T* right(std::int64_t at) const { return v_ + (hasVectors() ? at * (n_ + 1) : at); }

  bool solveSmall(std::int64_t at, std::int64_t n, bool extra) {
    const std::int64_t columns = n + (extra ? 1 : 0);
    const std::int64_t rows = hasVectors() ? columns : 2;
    std::vector<double> above(e_ + at, e_ + at + columns - 1);
    above.resize(asSize(n));
    std::vector<double> left(hasVectors() ? asSize(n * n) : 0);
    std::vector<double> right(asSize(columns * rows));
    if (hasVectors()) {
      for (std::int64_t j = 0; j < n; ++j) left[asSize(j * (n + 1))] = 1;
      for (std::int64_t j = 0; j < columns; ++j) right[asSize(j * (columns + 1))] = 1;
    } else {
      right[0] = 1;
      right[asSize(columns * rows - 1)] = 1;
    }
    if (!solveSmallBidiagonal(d_ + at, above.data(), n, extra, {left.data(), hasVectors() ? n : 0},
                              {right.data(), rows}))
      return false;
    write(right, columns, rows, this->right(at));
    if (hasVectors()) write(left, n, n, u_ + at * (n_ + 1));
    return true;
  }
  void write(const std::vector<double>& vectors, std::int64_t columns, std::int64_t rows, T* to) const {
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) to[i * n_ + j] = static_cast<T>(vectors[asSize(j * rows + i)]);
  }

  void merge(std::int64_t at, std::int64_t n, bool extra, std::int64_t upper) {
    const std::int64_t columns = n + (extra ? 1 : 0);
    double* d = d_ + at;
    T* v = right(at);
    const double own = d[upper];
    const double beside = e_[at + upper];
    d[upper] = 0;
    double largest = std::max(std::abs(own), std::abs(beside));
    for (std::int64_t j = 0; j < n; ++j) largest = std::max(largest, d[j]);
    // What is at most this counts as nothing, beside the matrix.
    const double tolerated =
        4 * static_cast<double>(std::numeric_limits<T>::epsilon()) * std::max(largest, kSmallestPart);
    // The row between is `own` times the last row of the upper v, and `beside` times the first of the lower one.
    const T* lastOfUpper = v + (hasVectors() ? upper : 1) * n_;
    const T* firstOfLower = hasVectors() ? lastOfUpper + n_ : v;
    std::vector<double> z(asSize(columns));
    for (std::int64_t j = 0; j < columns; ++j)
      z[asSize(j)] = j <= upper ? own * lastOfUpper[j] : beside * firstOfLower[j];
    SplitSizes sizes{columns, columns, upper + 1, upper + 1};
    if (!hasVectors()) {
      std::fill_n(v + upper + 1, columns - upper - 1, T());
      std::fill_n(v + n_, upper + 1, T());
      sizes.rows = 2;
      sizes.upperRows = 1;
    }
    SplitColumns<T> right(v, n_, sizes);
    if (extra) {
      // Both halves have a column that belongs to no value; one of two remains.
      double& first = z[asSize(upper)];
      const double length = std::hypot(first, z.back());
      if (length > 0) right.turn(n, upper, first / length, z.back() / length);
      first = length;
      z.pop_back();
    }
    SplitColumns<T> left(u_, 0, {0, n, 0, upper + 1});
    if (hasVectors()) {
      u_[(at + upper) * (n_ + 1)] = 1;
      left = SplitColumns<T>(u_ + at * (n_ + 1), n_, {n, n, upper + 1, upper + 1});
    }
    if (largest == 0) return;
    Merge<T>(d, std::move(z), upper, tolerated, std::move(left), std::move(right)).run(hasVectors());
  }

  double* d_;
  const double* e_;
  std::int64_t n_;
  T *u_, *v_;
};

}  // namespace

template <class T>
bool solveBidiagonal(double* diagonal, const double* above, std::int64_t n, T* u, T* v) {
  if (u != nullptr) {
    std::fill_n(u, n * n, T());
    std::fill_n(v, n * n, T());
    return Halves<T>(diagonal, above, n, u, v).solve(0, n, false);
  }
  if (n <= kSmallBidiagonal) {
    std::vector<double> beside(above, above + n - 1);
    return solveSmallBidiagonal(diagonal, beside.data(), n, false, {nullptr, 0}, {nullptr, 0});
  }
  std::vector<T> ends(asSize(2 * n));
  return Halves<T>(diagonal, above, n, nullptr, ends.data()).solve(0, n, false);
}
template bool solveBidiagonal(double*, const double*, std::int64_t, float*, float*);
template bool solveBidiagonal(double*, const double*, std::int64_t, double*, double*);

}  // namespace tandem::lib
