// Symmetric tridiagonal matrices by implicit QR steps with Wilkinson's shift (Golub, Van Loan, "Matrix computations",
// 8.3), from the end of larger numbers to that of smaller ones. For values alone they need no square roots: squares of
// what is beside the diagonal, and of cosines and sines, are all that occurs (Pal, Walker, Kahan; Parlett, "The
// symmetric eigenvalue problem", 8.15).
#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/lib/linalg/bands.h"
#include "runtime/lib/linalg/tridiagonal.h"

namespace tandem::lib {
namespace {

/// The eigenvalue of the last two rows and columns that is nearer to the last number.
double shiftOf(const Band& band, double beside) {
  const double last = band.d(band.count() - 1);
  const double half = (band.d(band.count() - 2) - last) / 2;
  const double length = std::sqrt(half * half + beside * beside);
  return length > 0 ? last - beside / (half + std::copysign(length, half)) * beside : last;
}

void step(const Band& band, const VectorRows& vectors) {
  const std::int64_t count = band.count();
  double f = band.d(0) - shiftOf(band, band.e(count - 2));
  double g = band.e(0);
  for (std::int64_t k = 0; k + 1 < count; ++k) {
    const Rotation by(f, g);
    if (k > 0) band.e(k - 1) = by.length;
    const double high = band.d(k);
    const double low = band.d(k + 1);
    const double between = band.e(k);
    // Both ends of the diagonal move by as much.
    const double moved = by.s * (by.s * (low - high) + 2 * by.c * between);
    band.d(k) = high + moved;
    band.d(k + 1) = low - moved;
    f = by.c * (by.c * between + by.s * (low - high)) - by.s * by.s * between;
    band.e(k) = f;
    if (k + 2 < count) {
      g = by.s * band.e(k + 1);
      band.e(k + 1) *= by.c;
    }
    band.rotateRows(vectors, k, by);
  }
}

/// The same where e has squares.
void stepOfSquares(const Band& band) {
  constexpr double nothing = 1e-290;
  const std::int64_t count = band.count();
  const double mu = shiftOf(band, std::sqrt(band.e(count - 2)));
  double c = 1, s = 0;  // squares of the cosine and the sine
  double own = band.d(0) - mu;
  double p = own * own;
  for (std::int64_t k = 0; k + 1 < count; ++k) {
    const double square = band.e(k);
    const double r = p + square;
    if (k > 0) band.e(k - 1) = s * r;
    const double scale = 1 / r;
    const double ratio = r / p;
    const double before = std::exchange(c, p * scale);
    s = square * scale;
    const double next = band.d(k + 1);
    const double previous = std::exchange(own, c * (next - mu) - s * own);
    band.d(k) = previous + (next - own);
    p = p > nothing ? own * own * ratio : before * square;
  }
  band.e(count - 2) = s * p;
  band.d(count - 1) = mu + own;
}

}  // namespace

bool solveSmallTridiagonal(double* diagonal, double* beside, std::int64_t n, VectorRows vectors, double precision) {
  const double largest = largestOfBand(diagonal, beside, n);
  const double scale = -scaleFor(largest);  // of the negative matrix the values descend
  multiply(diagonal, n, scale);
  multiply(beside, n - 1, scale);
  const double smallest = precision * largest * -scale;
  auto counts = [&](double e, double around) { return std::abs(e) > std::max(smallest, precision * around); };
  if (!iterateBands(diagonal, beside, n, counts, [&](const Band& b) { step(b, vectors); })) return false;
  sortDescending(diagonal, n, vectors, {nullptr, 0});
  multiply(diagonal, n, 1 / scale);
  return true;
}

bool tridiagonalValues(double* diagonal, double* beside, std::int64_t n, double precision) {
  const double largest = largestOfBand(diagonal, beside, n);
  const double scale = scaleFor(largest);
  multiply(diagonal, n, scale);
  for (std::int64_t k = 0; k + 1 < n; ++k) beside[k] = (beside[k] * scale) * (beside[k] * scale);
  const double smallest = precision * largest * scale;
  auto counts = [&](double square, double around) {
    const double size = std::max(smallest, precision * around);
    return square > size * size;
  };
  if (!iterateBands(diagonal, beside, n, counts, stepOfSquares)) return false;
  std::sort(diagonal, diagonal + n);
  multiply(diagonal, n, 1 / scale);
  return true;
}

}  // namespace tandem::lib
