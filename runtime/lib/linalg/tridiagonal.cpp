#include "runtime/lib/linalg/tridiagonal.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "runtime/lib/linalg/secular_equation.h"
#include "runtime/lib/linalg/split_columns.h"

namespace tandem::lib {
namespace {

/// Two solved halves and what is between them: which columns stay as they are, and which the equation mixes.
template <class T>
class Merge {
 public:
  Merge(double* d, std::vector<double> z, double rho, SplitColumns<T> columns)
      : d_(d), columns_(std::move(columns)), size_(std::ssize(z)), rho_(rho), z_(std::move(z)) {}

  void run() {
    deflate();
    std::vector<double> values(d_, d_ + size_);
    std::vector<double> vectors;
    if (!kept_.empty()) vectors = mix(values);
    std::vector<std::int64_t> order(asSize(size_));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](std::int64_t j) { return values[asSize(j)]; });
    for (std::int64_t j = 0; j < size_; ++j) d_[j] = values[asSize(order[asSize(j)])];
    columns_.replace(kept_, vectors, order);
  }

 private:
  static std::size_t asSize(std::int64_t i) { return static_cast<std::size_t>(i); }

  /// What is at most this counts as nothing, beside the matrix.
  [[nodiscard]] double tolerance() const {
    double largest = 2 * rho_;
    for (std::int64_t j = 0; j < size_; ++j) largest = std::max(largest, std::abs(d_[j]));
    return 4 * static_cast<double>(std::numeric_limits<T>::epsilon()) * largest;
  }
  /// Leaves out columns that have no part in z, and of two with nearly one value turns one so that it has none.
  void deflate() {
    const double tolerated = tolerance();
    std::vector<std::int64_t> order(asSize(size_));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](std::int64_t j) { return d_[j]; });
    for (const std::int64_t j : order) {
      const double z = z_[asSize(j)];
      if (rho_ * std::abs(z) * std::sqrt(2.0) <= tolerated) continue;
      if (!kept_.empty()) {
        const std::int64_t other = kept_.back();
        const double length = std::hypot(z, z_[asSize(other)]);
        const double c = z / length;
        const double s = z_[asSize(other)] / length;
        if (std::abs((d_[j] - d_[other]) * c * s) <= tolerated) {
          turn(other, j, c, s);
          z_[asSize(j)] = length;
          kept_.back() = j;
          continue;
        }
      }
      kept_.push_back(j);
    }
  }
  void turn(std::int64_t first, std::int64_t second, double c, double s) {
    columns_.turn(first, second, c, s);
    const double low = d_[first];
    const double high = d_[second];
    d_[first] = c * c * low + s * s * high;
    d_[second] = s * s * low + c * c * high;
  }
  /// What the new columns of those that are kept are made of; their values are entered.
  std::vector<double> mix(std::vector<double>& values) {
    std::vector<double> d, z;
    for (const std::int64_t j : kept_) {
      d.push_back(d_[j]);
      z.push_back(z_[asSize(j)]);
    }
    const SecularEquation equation(std::move(d), std::move(z), rho_);
    for (std::size_t i = 0; i < kept_.size(); ++i)
      values[asSize(kept_[i])] = equation.zero(static_cast<std::int64_t>(i));
    return equation.vectors();
  }

  double* d_;
  SplitColumns<T> columns_;
  std::int64_t size_;
  double rho_;
  std::vector<double> z_;
  std::vector<std::int64_t> kept_;  // columns with a part in z, by value
};

template <class T>
class Halves {
 public:
  Halves(double* d, const double* beside, HalvedVectors<T> q) : d_(d), beside_(beside), q_(q) {}

  /// The rows [at, at + n).
  bool solve(std::int64_t at, std::int64_t n) {
    if (n <= kSmallTridiagonal) return solveSmall(at, n);
    const std::int64_t upper = n / 2;
    const double between = beside_[at + upper - 1];
    d_[at + upper - 1] -= std::abs(between);
    d_[at + upper] -= std::abs(between);
    if (!solve(at, upper) || !solve(at + upper, n - upper)) return false;
    const T* last = q_.lastOfUpper(at, upper);
    const T* first = q_.firstOfLower(at, upper);
    std::vector<double> z(static_cast<std::size_t>(n));
    for (std::int64_t j = 0; j < n; ++j)
      z[static_cast<std::size_t>(j)] = j < upper ? last[j] : std::copysign(1.0, between) * first[j];
    Merge<T>(d_ + at, std::move(z), std::abs(between), q_.joined(at, n, upper)).run();
    return true;
  }

 private:
  bool solveSmall(std::int64_t at, std::int64_t n) {
    std::vector<double> beside(beside_ + at, beside_ + at + n - 1);
    std::vector<double> vectors = q_.unit(n);
    constexpr double precision = std::numeric_limits<T>::epsilon();
    if (!solveSmallTridiagonal(d_ + at, beside.data(), n, {vectors.data(), n}, precision)) return false;
    q_.write(at, vectors, n);
    return true;
  }

  double* d_;
  const double* beside_;
  HalvedVectors<T> q_;
};

}  // namespace

template <class T>
bool solveTridiagonal(double* diagonal, const double* beside, std::int64_t n, T* vectors) {
  std::fill_n(vectors, n * n, T());
  return Halves<T>(diagonal, beside, {vectors, n, false}).solve(0, n);
}
template bool solveTridiagonal(double*, const double*, std::int64_t, float*);
template bool solveTridiagonal(double*, const double*, std::int64_t, double*);

}  // namespace tandem::lib
