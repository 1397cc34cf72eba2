#include "runtime/lib/linalg/bidiagonal.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/lib/linalg/middle.h"
#include "runtime/lib/linalg/split_columns.h"
#include "runtime/lib/linalg/tridiagonal.h"

namespace tandem::lib {
namespace {

template <class T>
constexpr double kPrecision = std::numeric_limits<T>::epsilon();
/// Of a part with all numbers below this, beside a matrix with some near 1, no value matters to the last bit.
constexpr double kSmallestPart = std::numeric_limits<double>::epsilon();

template <class T>
class Halves {
 public:
  /// u is null where values alone are wanted.
  Halves(double* d, const double* e, std::int64_t n, T* u, HalvedVectors<T> v)
      : d_(d), e_(e), n_(n), u_(u), left_(u, n, false), right_(v) {}

  /// The rows [at, at + n), with one more column if `extra`.
  bool solve(std::int64_t at, std::int64_t n, bool extra) {
    if (n <= kSmallBidiagonal) return solveSmall(at, n, extra);
    const std::int64_t upper = n / 2;
    if (!solve(at, upper, true) || !solve(at + upper + 1, n - upper - 1, extra)) return false;
    merge(at, n, extra, upper);
    return true;
  }

 private:
  bool solveSmall(std::int64_t at, std::int64_t n, bool extra) {
    const std::int64_t columns = n + (extra ? 1 : 0);
    std::vector<double> above(e_ + at, e_ + at + columns - 1);
    std::vector<double> right = right_.unit(columns);
    std::vector<double> left;
    if (u_ != nullptr) left = left_.unit(n);
    const VectorRows leftRows{left.data(), u_ != nullptr ? n : 0};
    if (!solveSmallBidiagonal(d_ + at, above.data(), n, extra, leftRows, {right.data(), right_.rowsOf(columns)},
                              kPrecision<T>))
      return false;
    right_.write(at, right, columns);
    if (u_ != nullptr) left_.write(at, left, n);
    return true;
  }

  /// The row `upper` of a part is between its halves.
  void merge(std::int64_t at, std::int64_t n, bool extra, std::int64_t upper) {
    const std::int64_t columns = n + (extra ? 1 : 0);
    double* d = d_ + at;
    const double own = std::exchange(d[upper], 0);
    const double beside = e_[at + upper];
    const double largest = std::max({std::abs(own), std::abs(beside), largestOf(d, n)});
    // What is at most this counts as nothing, beside the matrix.
    const double tolerated =
        4 * static_cast<double>(std::numeric_limits<T>::epsilon()) * std::max(largest, kSmallestPart);
    const T* last = right_.lastOfUpper(at, upper + 1);
    const T* first = right_.firstOfLower(at, upper + 1);
    std::vector<double> z(asSize(columns));
    for (std::int64_t j = 0; j < columns; ++j) z[asSize(j)] = j <= upper ? own * last[j] : beside * first[j];
    SplitColumns<T> right = right_.joined(at, columns, upper + 1);
    if (extra) {
      // Both halves have a column that belongs to no value; one of two remains.
      const double between = std::exchange(z[asSize(upper)], std::hypot(z[asSize(upper)], z.back()));
      const double length = z[asSize(upper)];
      if (length > 0) right.turn(n, upper, between / length, z.back() / length);
      z.pop_back();
    }
    if (u_ != nullptr) u_[(at + upper) * (n_ + 1)] = 1;
    if (largest == 0) return;
    if (std::abs(z[asSize(upper)]) <= tolerated) z[asSize(upper)] = std::copysign(tolerated, z[asSize(upper)]);
    SplitColumns<T> left = u_ != nullptr ? left_.joined(at, n, upper + 1) : SplitColumns<T>(nullptr, 0, {0, n, 0, n});
    auto turn = [&](std::int64_t one, std::int64_t other, double c, double s) {
      left.turn(one, other, c, s);
      right.turn(one, other, c, s);
    };
    Middle middle(d, std::move(z));
    middle.keep(upper, tolerated, 1, turn);  // the row itself, where d is 0
    for (const std::int64_t j : middle.orderBy(std::less())) {
      if (j == upper || std::abs(middle.z(j)) <= tolerated) continue;
      d[j] = std::max(d[j], tolerated / 2);  // apart from that 0
      middle.keep(j, tolerated, 1, turn);
    }
    const SecularEquation equation = middle.solve(1, SecularEquation::Poles::Squares);
    const std::vector<std::int64_t> order = middle.sort(std::greater());
    right.replace(middle.kept(), equation.vectors().data(), order);
    if (u_ != nullptr) left.replace(middle.kept(), equation.leftVectors().data(), order);
  }

  double* d_;
  const double* e_;
  std::int64_t n_;
  T* u_;
  HalvedVectors<T> left_, right_;
};

/// The squares of the values, which are those of the symmetric B^T B, have digits enough for floats: an error of 1e-16
/// of a square is one of at most 1e-8 of its root.
bool valuesForFloats(double* diagonal, const double* above, std::int64_t n) {
  std::vector<double> beside;
  for (std::int64_t k = 0; k + 1 < n; ++k) beside.push_back(diagonal[k] * above[k]);
  for (std::int64_t k = n; k-- > 1;) diagonal[k] = diagonal[k] * diagonal[k] + above[k - 1] * above[k - 1];
  diagonal[0] *= diagonal[0];
  if (!tridiagonalValues(diagonal, beside.data(), n, std::numeric_limits<double>::epsilon())) return false;
  std::reverse(diagonal, diagonal + n);
  std::transform(diagonal, diagonal + n, diagonal, [](double v) { return std::sqrt(std::max(v, 0.0)); });
  return true;
}

}  // namespace

template <class T>
bool solveBidiagonal(double* diagonal, const double* above, std::int64_t n, T* u, T* v) {
  const bool alone = u == nullptr;
  if (alone && std::is_same_v<T, float>) return valuesForFloats(diagonal, above, n);
  if (alone) {
    std::vector<double> values(diagonal, diagonal + n);
    if (bidiagonalValues(values.data(), above, n)) {
      std::ranges::copy(values, diagonal);
      return true;
    }
  }
  if (alone && n <= kSmallBidiagonal) {
    std::vector<double> beside(above, above + n - 1);
    return solveSmallBidiagonal(diagonal, beside.data(), n, false, {nullptr, 0}, {nullptr, 0}, kPrecision<T>);
  }
  std::vector<T> ends(asSize(alone ? 2 * n : 0));
  for (T* vectors : {u, v})
    if (!alone) std::fill_n(vectors, n * n, T());
  return Halves<T>(diagonal, above, n, u, {alone ? ends.data() : v, n, alone}).solve(0, n, false);
}
template bool solveBidiagonal(double*, const double*, std::int64_t, float*, float*);
template bool solveBidiagonal(double*, const double*, std::int64_t, double*, double*);

}  // namespace tandem::lib
