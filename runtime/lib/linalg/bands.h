// What iterations for small symmetric tridiagonal and bidiagonal matrices share: numbers d on the diagonal and e beside
// it, which steps make smaller until nothing is beside the diagonal.
#pragma once

#include <algorithm>
#include <cmath>

#include "runtime/lib/linalg/columns.h"
#include "runtime/lib/linalg/rotations.h"

namespace tandem::lib {

/// The rows [first, last], which no zero beside the diagonal divides, or the same upside down: from the end of the
/// larger number to that of the smaller one, at which values are found.
class Band {
 public:
  Band(double* d, double* e, std::int64_t first, std::int64_t last)
      : d_(d), e_(e), count_(last - first + 1), turned_(std::abs(d[first]) < std::abs(d[last])),
        start_(turned_ ? last : first) {}

  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] bool isTurned() const { return turned_; }
  [[nodiscard]] double& d(std::int64_t k) const { return d_[turned_ ? start_ - k : start_ + k]; }
  [[nodiscard]] double& e(std::int64_t k) const { return e_[turned_ ? start_ - k - 1 : start_ + k]; }
  /// The vectors k and k + 1.
  void rotateRows(const VectorRows& rows, std::int64_t k, const Rotation& by) const {
    turned_ ? rotate(rows, start_ - k, start_ - k - 1, by) : rotate(rows, start_ + k, start_ + k + 1, by);
  }

 private:
  double *d_, *e_;
  std::int64_t count_;
  bool turned_;
  std::int64_t start_;
};

/// Calls step(band) until nothing is beside the diagonal. counts(e, around): is it more than nothing, beside numbers of
/// that size? False where that takes many times the steps that matrices take.
template <class Counts, class Step>
bool iterateBands(double* d, double* e, std::int64_t n, Counts counts, Step step) {
  constexpr std::int64_t mostSteps = 60;  // for each row
  std::int64_t steps = 0;
  for (std::int64_t last = n - 1; last > 0;) {
    std::int64_t first = last;
    for (; first > 0; --first) {
      double& beside = e[first - 1];
      if (counts(beside, std::abs(d[first - 1]) + std::abs(d[first]))) continue;
      beside = 0;
      break;
    }
    if (first == last) {
      --last;
      continue;
    }
    if (++steps > mostSteps * n) return false;
    step(Band(d, e, first, last));
  }
  return true;
}

inline double largestOfBand(const double* d, const double* e, std::int64_t n) {
  return std::max(largestOf(d, n), largestOf(e, n - 1));
}
inline void multiply(double* x, std::int64_t n, double factor) {
  for (std::int64_t k = 0; k < n; ++k) x[k] *= factor;
}
/// Squares of what is very small are 0: what to multiply by before.
inline double scaleFor(double largest) { return largest < 0x1p-300 ? 0x1p600 : 1; }

}  // namespace tandem::lib
