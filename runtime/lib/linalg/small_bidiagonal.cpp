// Small bidiagonal matrices by implicit QR steps, which chase an element outside the two diagonals from one end to the
// other. A step with shift 0 keeps small values accurate, and removes zeros of the diagonal.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "runtime/lib/linalg/bidiagonal.h"

// The instruction set all our kernels need at least.
#pragma GCC target("avx2,fma")

namespace tandem::lib {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
/// Steps for each row, many times what matrices take.
constexpr std::int64_t kMostSteps = 60;
constexpr double kSmall = 0x1p-300;
constexpr double kFromSmall = 0x1p600;

/// [c s; -s c] (f, g) = (length, 0)
struct Rotation {
  Rotation(double f, double g) {
    if (g == 0) {
      length = f;
    } else {
      const double squares = f * f + g * g;
      length = squares > 1e-280 ? std::sqrt(squares) : std::hypot(f, g);
      const double scale = 1 / length;
      c = f * scale;
      s = g * scale;
    }
  }
  double c = 1, s = 0, length = 0;
};

/// The vectors a and b become c a + s b and c b - s a.
void rotate(const VectorRows& rows, std::int64_t a, std::int64_t b, const Rotation& by) {
  using Lanes [[gnu::vector_size(32)]] = double;
  constexpr std::int64_t lanes = 4;
  double* first = rows.data + a * rows.length;
  double* second = rows.data + b * rows.length;
  std::int64_t i = 0;
  for (; i + lanes <= rows.length; i += lanes) {
    Lanes x, y;
    std::memcpy(&x, first + i, sizeof x);
    std::memcpy(&y, second + i, sizeof y);
    const Lanes sum = by.c * x + by.s * y;
    y = by.c * y - by.s * x;
    std::memcpy(first + i, &sum, sizeof sum);
    std::memcpy(second + i, &y, sizeof y);
  }
  for (; i < rows.length; ++i) {
    const double x = first[i];
    first[i] = by.c * x + by.s * second[i];
    second[i] = by.c * second[i] - by.s * x;
  }
}

/// The rows [first, last] of a matrix, which no zero above the diagonal divides. Upside down a matrix is one whose
/// diagonal goes up: its transpose is bidiagonal as the matrix is, with left and right vectors in each other's place.
class Block {
 public:
  Block(double* d, double* e, std::int64_t first, std::int64_t last, VectorRows left, VectorRows right)
      : d_(d), e_(e), start_(first), count_(last - first + 1), left_(left), right_(right) {
    if (std::abs(d[first]) >= std::abs(d[last])) return;
    turned_ = true;
    start_ = last;
    std::swap(left_, right_);
  }

  void step(double smallest) {
    bool zeros = false;
    for (std::int64_t k = 0; k < count_; ++k) {
      if (std::abs(d(k)) > smallest) continue;
      d(k) = 0;
      zeros = true;
    }
    const double shift = zeros ? 0 : smallestOfLast();
    const double ratio = zeros ? 0 : shift / d(0);
    if (ratio * ratio < kEpsilon)
      plainStep();
    else
      shiftedStep(shift);
  }

 private:
  [[nodiscard]] double& d(std::int64_t k) const { return d_[turned_ ? start_ - k : start_ + k]; }
  [[nodiscard]] double& e(std::int64_t k) const { return e_[turned_ ? start_ - k - 1 : start_ + k]; }
  void rotateRows(const VectorRows& rows, std::int64_t k, const Rotation& by) const {
    turned_ ? rotate(rows, start_ - k, start_ - k - 1, by) : rotate(rows, start_ + k, start_ + k + 1, by);
  }
  /// The smaller singular value of the last two rows and columns, a triangle.
  [[nodiscard]] double smallestOfLast() const {
    const double f = std::abs(d(count_ - 2));
    const double g = e(count_ - 2);
    const double h = std::abs(d(count_ - 1));
    const double largest = (std::sqrt((f + h) * (f + h) + g * g) + std::sqrt((f - h) * (f - h) + g * g)) / 2;
    return largest > 0 ? f / largest * h : 0;
  }
  void shiftedStep(double shift) const {
    double f = (std::abs(d(0)) - shift) * (std::copysign(1.0, d(0)) + shift / d(0));
    double g = e(0);
    for (std::int64_t k = 0; k + 1 < count_; ++k) {
      const Rotation right(f, g);
      if (k > 0) e(k - 1) = right.length;
      f = right.c * d(k) + right.s * e(k);
      e(k) = right.c * e(k) - right.s * d(k);
      g = right.s * d(k + 1);
      d(k + 1) *= right.c;
      const Rotation left(f, g);
      d(k) = left.length;
      f = left.c * e(k) + left.s * d(k + 1);
      d(k + 1) = left.c * d(k + 1) - left.s * e(k);
      if (k + 2 < count_) {
        g = left.s * e(k + 1);
        e(k + 1) *= left.c;
      }
      rotateRows(right_, k, right);
      rotateRows(left_, k, left);
    }
    e(count_ - 2) = f;
  }
  /// With shift 0 the element outside need not be formed: every number is a product of those before.
  void plainStep() const {
    double c = 1, previousC = 1, previousS = 0;
    for (std::int64_t k = 0; k + 1 < count_; ++k) {
      const Rotation right(d(k) * c, e(k));
      if (k > 0) e(k - 1) = previousS * right.length;
      const Rotation left(previousC * right.length, d(k + 1) * right.s);
      d(k) = left.length;
      c = right.c;
      previousC = left.c;
      previousS = left.s;
      rotateRows(right_, k, right);
      rotateRows(left_, k, left);
    }
    const double h = d(count_ - 1) * c;
    d(count_ - 1) = h * previousC;
    e(count_ - 2) = h * previousS;
  }

  double *d_, *e_;
  std::int64_t start_, count_;
  VectorRows left_, right_;
  bool turned_ = false;
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

/// Descending, none negative.
void order(double* d, std::int64_t n, const VectorRows& left, const VectorRows& right) {
  for (std::int64_t k = 0; k < n; ++k) {
    if (!std::signbit(d[k])) continue;
    d[k] = -d[k];
    for (std::int64_t i = 0; i < right.length; ++i) right.data[k * right.length + i] *= -1;
  }
  for (std::int64_t k = 0; k + 1 < n; ++k) {
    const std::int64_t largest = std::max_element(d + k, d + n) - d;
    if (largest == k) continue;
    std::swap(d[k], d[largest]);
    for (const VectorRows& rows : {left, right})
      std::swap_ranges(rows.data + k * rows.length, rows.data + (k + 1) * rows.length,
                       rows.data + largest * rows.length);
  }
}

/// Until nothing is above the diagonal. What is at most `smallest` counts as 0.
bool iterate(double* d, double* e, std::int64_t n, double smallest, const VectorRows& left, const VectorRows& right) {
  std::int64_t steps = 0;
  for (std::int64_t last = n - 1; last > 0;) {
    std::int64_t first = last;
    for (; first > 0; --first) {
      double& above = e[first - 1];
      if (std::abs(above) > std::max(smallest, kEpsilon * (std::abs(d[first - 1]) + std::abs(d[first])))) continue;
      above = 0;
      break;
    }
    if (first == last) {
      --last;
      continue;
    }
    if (++steps > kMostSteps * n) return false;
    Block(d, e, first, last, left, right).step(smallest);
  }
  return true;
}

}  // namespace

bool solveSmallBidiagonal(double* diagonal, double* above, std::int64_t n, bool extra, VectorRows left,
                          VectorRows right) {
  if (extra) removeExtra(diagonal, above, n, right);
  double largest = 0;
  for (std::int64_t k = 0; k < n; ++k) largest = std::max(largest, std::abs(diagonal[k]));
  for (std::int64_t k = 0; k + 1 < n; ++k) largest = std::max(largest, std::abs(above[k]));
  // Squares of what is very small are 0.
  const double scale = largest < kSmall ? kFromSmall : 1;
  for (std::int64_t k = 0; k < n; ++k) diagonal[k] *= scale;
  for (std::int64_t k = 0; k + 1 < n; ++k) above[k] *= scale;
  if (!iterate(diagonal, above, n, kEpsilon * largest * scale, left, right)) return false;
  for (std::int64_t k = 0; k < n; ++k) diagonal[k] /= scale;
  order(diagonal, n, left, right);
  return true;
}

}  // namespace tandem::lib
