#include "runtime/lib/linalg/tridiagonal.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "runtime/lib/linalg/secular_equation.h"
#include "runtime/lib/matmul/gemm.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

/// Two solved halves and what is between them: which columns stay as they are, and which the equation mixes.
template <class T>
class Merge {
 public:
  /// `q`: the vectors of both, block diagonal, rows ldq apart.
  Merge(double* d, T* q, std::int64_t ldq, std::int64_t upper, std::int64_t size, double beside)
      : d_(d), q_(q), ldq_(ldq), upper_(upper), size_(size), rho_(std::abs(beside)), z_(asSize(size)),
        top_(asSize(size)), bottom_(asSize(size)) {
    for (std::int64_t j = 0; j < size; ++j) {
      const bool above = j < upper;
      z_[asSize(j)] = above ? at(upper - 1, j) : std::copysign(1.0, beside) * at(upper, j);
      top_[asSize(j)] = above;
      bottom_[asSize(j)] = !above;
    }
  }

  void run() {
    deflate();
    std::vector<double> values(d_, d_ + size_);
    std::vector<T> mixed;
    if (!kept_.empty()) mixed = mix(values);
    // Each place has the column that comes there, or if negative one of the mixed.
    std::vector<std::int64_t> columns(asSize(size_));
    std::iota(columns.begin(), columns.end(), 0);
    for (std::size_t i = 0; i < kept_.size(); ++i) columns[asSize(kept_[i])] = -1 - static_cast<std::int64_t>(i);
    std::vector<std::int64_t> order(asSize(size_));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](std::int64_t j) { return values[asSize(j)]; });
    for (std::int64_t j = 0; j < size_; ++j) d_[j] = values[asSize(order[asSize(j)])];
    std::vector<T> row(asSize(size_));
    for (std::int64_t i = 0; i < size_; ++i) {
      const T* others = mixed.data() + i * std::ssize(kept_);
      for (std::int64_t j = 0; j < size_; ++j) {
        const std::int64_t from = columns[asSize(order[asSize(j)])];
        row[asSize(j)] = from < 0 ? others[-1 - from] : at(i, from);
      }
      std::ranges::copy(row, q_ + i * ldq_);
    }
  }

 private:
  static std::size_t asSize(std::int64_t i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] T& at(std::int64_t i, std::int64_t j) const { return q_[i * ldq_ + j]; }

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
  /// `first` c - `second` s and `first` s + `second` c take their places.
  void turn(std::int64_t first, std::int64_t second, double c, double s) {
    for (std::int64_t i = 0; i < size_; ++i) {
      const double a = at(i, first);
      const double b = at(i, second);
      at(i, first) = static_cast<T>(c * a - s * b);
      at(i, second) = static_cast<T>(s * a + c * b);
    }
    const double low = d_[first];
    const double high = d_[second];
    d_[first] = c * c * low + s * s * high;
    d_[second] = s * s * low + c * c * high;
    for (auto* part : {&top_, &bottom_}) {
      const char both = (*part)[asSize(first)] | (*part)[asSize(second)];
      (*part)[asSize(first)] = (*part)[asSize(second)] = both;
    }
  }
  /// The new columns of those that are kept, row-major; their values are entered.
  std::vector<T> mix(std::vector<double>& values) {
    std::vector<double> d, z;
    for (const std::int64_t j : kept_) {
      d.push_back(d_[j]);
      z.push_back(z_[asSize(j)]);
    }
    const SecularEquation equation(std::move(d), std::move(z), rho_);
    const std::vector<double> vectors = equation.vectors();
    const std::int64_t k = std::ssize(kept_);
    for (std::int64_t i = 0; i < k; ++i) values[asSize(kept_[asSize(i)])] = equation.zero(i);
    std::vector<T> mixed(asSize(size_ * k));
    mixRows(0, upper_, top_, vectors, mixed.data());
    mixRows(upper_, size_ - upper_, bottom_, vectors, mixed.data() + upper_ * k);
    return mixed;
  }
  /// Of some rows, in which only the columns of `part` are not 0.
  void mixRows(std::int64_t first, std::int64_t rows, const std::vector<char>& part, const std::vector<double>& vectors,
               T* to) const {
    const std::int64_t k = std::ssize(kept_);
    std::vector<std::int64_t> which;
    for (std::int64_t i = 0; i < k; ++i)
      if (part[asSize(kept_[asSize(i)])]) which.push_back(i);
    const std::int64_t depth = std::ssize(which);
    if (depth == 0) return;
    Scratch<T> left(rows * depth);
    Scratch<T> right(k * depth);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t p = 0; p < depth; ++p) left[i * depth + p] = at(first + i, kept_[asSize(which[asSize(p)])]);
    for (std::int64_t i = 0; i < k; ++i)
      for (std::int64_t p = 0; p < depth; ++p)
        right[i * depth + p] = static_cast<T>(vectors[asSize(i * k + which[asSize(p)])]);
    gemm(rows, k, depth, Matrix<T>{left.data(), depth, 1}, Matrix<T>{right.data(), 1, depth}, to);
  }

  double* d_;
  T* q_;
  std::int64_t ldq_, upper_, size_;
  double rho_;
  std::vector<double> z_;
  std::vector<char> top_, bottom_;  // has a column elements in the rows of a half?
  std::vector<std::int64_t> kept_;  // columns with a part in z, by value
};

template <class T>
bool divide(double* d, const double* beside, std::int64_t n, T* q, std::int64_t ldq) {
  if (n <= kSmallTridiagonal) {
    std::vector<double> vectors(static_cast<std::size_t>(n * n));
    if (!solveSmallTridiagonal(d, beside, n, vectors.data())) return false;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        q[i * ldq + j] = static_cast<T>(vectors[static_cast<std::size_t>(i * n + j)]);
    return true;
  }
  const std::int64_t upper = n / 2;
  const double between = beside[upper - 1];
  d[upper - 1] -= std::abs(between);
  d[upper] -= std::abs(between);
  if (!divide(d, beside, upper, q, ldq) || !divide(d + upper, beside + upper, n - upper, q + upper * (ldq + 1), ldq))
    return false;
  Merge<T>(d, q, ldq, upper, n, between).run();
  return true;
}

}  // namespace

template <class T>
bool solveTridiagonal(double* diagonal, const double* beside, std::int64_t n, T* vectors) {
  std::fill_n(vectors, n * n, T());
  return divide(diagonal, beside, n, vectors, n);
}
template bool solveTridiagonal(double*, const double*, std::int64_t, float*);
template bool solveTridiagonal(double*, const double*, std::int64_t, double*);

}  // namespace tandem::lib
