// Small bidiagonal matrices by implicit QR steps, which chase an element outside the two diagonals from one end to the
// other. A step with shift 0 keeps small values accurate, and removes zeros of the diagonal.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "runtime/lib/linalg/bands.h"
#include "runtime/lib/linalg/bidiagonal.h"

namespace tandem::lib {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
/// Upside down a matrix is one whose diagonal goes up: its transpose is bidiagonal as the matrix is, with left and
/// right vectors in each other's place.
class Step {
 public:
  Step(const Band& band, VectorRows left, VectorRows right) : band_(band), left_(left), right_(right) {
    if (band.isTurned()) std::swap(left_, right_);
  }

  /// What is at most `smallest` counts as 0.
  void run(double smallest) const {
    bool zeros = false;
    for (std::int64_t k = 0; k < band_.count(); ++k) {
      if (std::abs(band_.d(k)) > smallest) continue;
      band_.d(k) = 0;
      zeros = true;
    }
    const double shift = zeros ? 0 : smallestOfLast();
    const double ratio = zeros ? 0 : shift / band_.d(0);
    if (ratio * ratio < kEpsilon)
      plain();
    else
      shifted(shift);
  }

 private:
  /// The smaller singular value of the last two rows and columns, a triangle.
  [[nodiscard]] double smallestOfLast() const {
    const double f = std::abs(band_.d(band_.count() - 2));
    const double g = band_.e(band_.count() - 2);
    const double h = std::abs(band_.d(band_.count() - 1));
    const double largest = (std::sqrt((f + h) * (f + h) + g * g) + std::sqrt((f - h) * (f - h) + g * g)) / 2;
    return largest > 0 ? f / largest * h : 0;
  }
  void shifted(double shift) const {
    const Band& b = band_;
    double f = (std::abs(b.d(0)) - shift) * (std::copysign(1.0, b.d(0)) + shift / b.d(0));
    double g = b.e(0);
    for (std::int64_t k = 0; k + 1 < b.count(); ++k) {
      const Rotation right(f, g);
      if (k > 0) b.e(k - 1) = right.length;
      f = right.c * b.d(k) + right.s * b.e(k);
      const double between = right.c * b.e(k) - right.s * b.d(k);
      const Rotation left(f, right.s * b.d(k + 1));
      const double low = right.c * b.d(k + 1);
      b.d(k) = left.length;
      f = left.c * between + left.s * low;
      b.d(k + 1) = left.c * low - left.s * between;
      if (k + 2 < b.count()) {
        g = left.s * b.e(k + 1);
        b.e(k + 1) *= left.c;
      }
      b.rotateRows(right_, k, right);
      b.rotateRows(left_, k, left);
    }
    b.e(b.count() - 2) = f;
  }
  /// With shift 0 the element outside need not be formed: every number is a product of those before.
  void plain() const {
    const Band& b = band_;
    double c = 1, previousC = 1, previousS = 0;
    for (std::int64_t k = 0; k + 1 < b.count(); ++k) {
      const Rotation right(b.d(k) * c, b.e(k));
      if (k > 0) b.e(k - 1) = previousS * right.length;
      const Rotation left(previousC * right.length, b.d(k + 1) * right.s);
      b.d(k) = left.length;
      c = right.c;
      previousC = left.c;
      previousS = left.s;
      b.rotateRows(right_, k, right);
      b.rotateRows(left_, k, left);
    }
    const double last = b.d(b.count() - 1) * c;
    b.d(b.count() - 1) = last * previousC;
    b.e(b.count() - 2) = last * previousS;
  }

  Band band_;
  VectorRows left_, right_;
};

/// Rotates the extra column into the others, from the last row to the first.
void removeExtra(double* d, double* e, std::int64_t n, const VectorRows& right) {
  double outside = e[n - 1];
  for (std::int64_t k = n - 1; k >= 0; --k) {
    const Rotation by(d[k], outside);
    d[k] = by.length;
    rotate(right, k, n, by);
    if (k == 0) break;
    outside = -by.s * e[k - 1];
    e[k - 1] *= by.c;
  }
}

/// None negative, descending.
void order(double* d, std::int64_t n, const VectorRows& left, const VectorRows& right) {
  for (std::int64_t k = 0; k < n; ++k) {
    if (!std::signbit(d[k])) continue;
    d[k] = -d[k];
    for (std::int64_t i = 0; i < right.length; ++i) right.data[k * right.length + i] *= -1;
  }
  sortDescending(d, n, left, right);
}

}  // namespace

bool solveSmallBidiagonal(double* diagonal, double* above, std::int64_t n, bool extra, VectorRows left,
                          VectorRows right, double precision) {
  if (extra) removeExtra(diagonal, above, n, right);
  const double largest = largestOfBand(diagonal, above, n);
  const double scale = scaleFor(largest);
  multiply(diagonal, n, scale);
  multiply(above, n - 1, scale);
  const double smallest = precision * largest * scale;
  auto counts = [&](double e, double around) { return std::abs(e) > std::max(smallest, precision * around); };
  auto step = [&](const Band& b) { Step(b, left, right).run(smallest); };
  if (!iterateBands(diagonal, above, n, counts, step)) return false;
  multiply(diagonal, n, 1 / scale);
  order(diagonal, n, left, right);
  return true;
}

}  // namespace tandem::lib
