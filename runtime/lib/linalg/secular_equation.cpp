// Zeros by rational interpolation: the sums over the poles on either side are each taken for one pole and a constant
// (Li, "Solving secular equations stably and efficiently", 1993), within a bracket that is halved where that leads out
// of it.
#include "runtime/lib/linalg/secular_equation.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/strided.h"

// The instruction set all our kernels need at least.
#pragma GCC target("avx2,fma")

namespace tandem::lib {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr int kMostSteps = 100;
constexpr std::int64_t kLanes = 4;
using Lanes [[gnu::vector_size(32)]] = double;

/// Of the poles d: gaps = (d - origin) - x, and the sums of squares / gaps and of squares / gaps^2. With `Squared` the
/// squares of d and of the origin are meant.
template <bool Squared>
std::pair<double, double> sumsOver(std::int64_t count, const double* d, const double* squares, double origin, double x,
                                   double* gaps) {
  Lanes sums{};
  Lanes slopes{};
  std::int64_t j = 0;
  for (; j + kLanes <= count; j += kLanes) {
    Lanes gap, square;
    std::memcpy(&gap, d + j, sizeof gap);
    std::memcpy(&square, squares + j, sizeof square);
    gap = Squared ? (gap - origin) * (gap + origin) - x : (gap - origin) - x;
    std::memcpy(gaps + j, &gap, sizeof gap);
    const Lanes inverse = 1 / gap, term = square * inverse;
    sums += term;
    slopes += term * inverse;
  }
  double sum = (sums[0] + sums[2]) + (sums[1] + sums[3]);
  double slope = (slopes[0] + slopes[2]) + (slopes[1] + slopes[3]);
  for (; j < count; ++j) {
    gaps[j] = Squared ? (d[j] - origin) * (d[j] + origin) - x : (d[j] - origin) - x;
    const double inverse = 1 / gaps[j], term = squares[j] * inverse;
    sum += term;
    slope += term * inverse;
  }
  return {sum, slope};
}

}  // namespace

SecularEquation::SecularEquation(std::vector<double> d, std::vector<double> z, double rho, Poles poles)
    : size_(std::ssize(d)), poles_(poles), d_(std::move(d)), z_(std::move(z)), squares_(z_.size()), zeros_(z_.size()),
      gaps_(size_ * size_) {
  std::ranges::transform(z_, squares_.begin(), [&](double v) { return rho * v * v; });
  parallelFor(size_, grainOf(size_ * 32), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) solve(i);
  });
}

SecularEquation::Sums SecularEquation::evaluate(std::int64_t split, double origin, double x, double* gaps) const {
  Sums s;
  const auto over = poles_ == Poles::Squares ? sumsOver<true> : sumsOver<false>;
  std::tie(s.below, s.belowSlope) = over(split, d_.data(), squares_.data(), origin, x, gaps);
  std::tie(s.above, s.aboveSlope) =
      over(size_ - split, d_.data() + split, squares_.data() + split, origin, x, gaps + split);
  return s;
}

double SecularEquation::plus(double origin, double x) const {
  return poles_ == Poles::Squares ? origin + x / (origin + std::sqrt(origin * origin + x)) : origin + x;
}

SecularEquation::Bracket SecularEquation::bracketInside(std::int64_t i) const {
  const auto at = static_cast<std::size_t>(i);
  const double left = squares_[at];
  const double right = squares_[at + 1];
  const double apart = this->apart(at + 1, at);
  std::vector<double> gaps(d_.size());
  const Sums s = evaluate(i + 1, d_[at], apart / 2, gaps.data());
  // The poles of the interval by themselves, all others as they are in the middle.
  const double others = 1 + (s.below - left / gaps[at]) + (s.above - right / gaps[at + 1]);
  if (1 + s.below + s.above >= 0) {
    const double a = others * apart + left + right;
    const double root = std::sqrt(std::abs(a * a - 4 * left * apart * others));
    return {d_[at], 0, apart / 2, a > 0 ? 2 * left * apart / (a + root) : (a - root) / (2 * others)};
  }
  const double a = others * apart - left - right;
  const double root = std::sqrt(std::abs(a * a + 4 * right * apart * others));
  return {d_[at + 1], -apart / 2, 0, a < 0 ? 2 * right * apart / (a - root) : -(a + root) / (2 * others)};
}

void SecularEquation::solve(std::int64_t i) {
  const bool last = i + 1 == size_;
  double* gap = gaps(i);
  if (size_ == 1) {
    gap[0] = -squares_[0];
    zeros_[0] = plus(d_[0], squares_[0]);
    return;
  }
  Bracket b{d_.back(), 0, 0, 0};
  if (last) {
    for (const double s : squares_) b.high += s;
    b.guess = b.high / 2;
  } else {
    b = bracketInside(i);
  }
  const std::int64_t first = last ? i - 1 : i;  // of the two poles that are interpolated with
  double x = b.guess > b.low && b.guess < b.high ? b.guess : b.low + (b.high - b.low) / 2;
  for (int step = 0; step < kMostSteps; ++step) {
    const Sums s = evaluate(first + 1, b.origin, x, gap);
    const double value = 1 + s.below + s.above;
    if (std::abs(value) <= kEpsilon * (1 + std::abs(s.below) + std::abs(s.above))) break;
    (value < 0 ? b.low : b.high) = x;
    if (b.high - b.low <= kEpsilon * std::max(std::abs(b.low), std::abs(b.high))) break;
    const double left = gap[first];
    const double right = gap[first + 1];
    const double c = value - left * s.belowSlope - right * s.aboveSlope;
    const double a = (left + right) * value - left * right * (s.belowSlope + s.aboveSlope);
    const double product = left * right * value;
    const double root = std::sqrt(std::max(0.0, a * a - 4 * product * c));
    double change = 0;
    if (last)
      change = a >= 0 ? (a + root) / (2 * c) : 2 * product / (a - root);
    else
      change = a <= 0 ? (a - root) / (2 * c) : 2 * product / (a + root);
    const double next = x + change;
    if (next == x) break;
    x = next > b.low && next < b.high ? next : b.low + (b.high - b.low) / 2;
  }
  evaluate(size_, b.origin, x, gap);
  zeros_[static_cast<std::size_t>(i)] = plus(b.origin, x);
}

// With the z of which the zeros that were found are exact, vectors are orthogonal (Gu, Eisenstat): z_j^2 is the product
// of (zero_i - d_j) over that of (d_i - d_j), but for a factor that all have.
Scratch<double> SecularEquation::unitRows(bool left) const {
  const auto n = static_cast<std::size_t>(size_);
  std::vector<double> z(n, 1);
  parallelFor(size_, grainOf(size_ * 4), [&](std::int64_t begin, std::int64_t end) {
    const auto from = static_cast<std::size_t>(begin), to = static_cast<std::size_t>(end);
    for (std::size_t i = 0; i < n; ++i) {
      const double* gap = gaps_.data() + i * n;
      for (std::size_t j = from; j < std::min(i, to); ++j) z[j] *= gap[j] / apart(j, i);
      if (from <= i && i < to) z[i] *= gap[i];
      for (std::size_t j = std::max(i + 1, from); j < to; ++j) z[j] *= gap[j] / apart(j, i);
    }
  });
  for (std::size_t j = 0; j < n; ++j) z[j] = std::copysign(std::sqrt(std::abs(z[j])), z_[j]);
  if (left)
    for (std::size_t j = 0; j < n; ++j) z[j] *= d_[j];
  Scratch<double> rows(size_ * size_);
  parallelFor(size_, grainOf(size_ * 4), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const double* gap = gaps_.data() + i * size_;
      double* row = rows.data() + i * size_;
      double sum = 0;
      for (std::size_t j = 0; j < n; ++j) {
        row[j] = left && j == 0 ? -1 : z[j] / gap[j];
        sum += row[j] * row[j];
      }
      const double scale = 1 / std::sqrt(sum);
      for (std::size_t j = 0; j < n; ++j) row[j] *= scale;
    }
  });
  return rows;
}

}  // namespace tandem::lib
