// Singular values of bidiagonal matrices without vectors, by differential quotients (dqds): Fernando and Parlett, 1994.
// A step is one division a row, on the squares q of the diagonal and e of what is beside it; sums and products of
// positive numbers alone keep small values accurate. Shifts and what is done where one was too large are those of
// Parlett and Marques, 2000.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "runtime/lib/linalg/bidiagonal.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

/// The least of what a step met: of all rows, of all but the last, and of all but two; and the last ones themselves.
struct Least {
  double all = 0, butOne = 0, butTwo = 0;
  double last = 0, lastButOne = 0;
};

/// The rows [first, last], at least three, of which the squares are what is left below a shift.
struct Part {
  double *q, *e;
  std::int64_t first, last;
};

/// One step with the shift `s`, to other memory.
Least step(const Part& p, double s, double* q, double* e) {
  Least least;
  double d = p.q[p.first] - s;
  least.all = d;
  for (std::int64_t k = p.first; k < p.last; ++k) {
    if (k + 1 == p.last) least.butOne = least.all, least.lastButOne = d;
    if (k + 2 == p.last) least.butTwo = least.all;
    q[k] = d + p.e[k];
    const double ratio = p.q[k + 1] / q[k];
    e[k] = p.e[k] * ratio;
    d = d * ratio - s;
    least.all = d < least.all ? d : least.all;
  }
  q[p.last] = least.last = d;
  return least;
}

/// A shift below the smallest value of the part, or hardly above, by what the step before met. `fraction` is that of
/// the least which was tried last, where no more was known.
double shiftFor(const Part& p, const Least& least, double& fraction) {
  if (!(least.all > 0)) return 0;
  const double *q = p.q + p.last, *e = p.e + p.last - 1;
  const bool atEnd = least.all == least.last;
  if (atEnd && least.butOne == least.lastButOne && p.last - p.first > 2) {
    // The last rows beside the others.
    const double beside = std::sqrt(q[0]) * std::sqrt(e[0]), above = std::sqrt(q[-1]) * std::sqrt(e[-1]);
    const double second = q[-1] + e[0];
    const double gap = 0.75 * least.butTwo - second;
    const double between = second - least.last - (gap > 0 && gap > above ? above / gap * above : beside + above);
    fraction = 0;
    if (between > 0 && between > beside) return std::max(least.last - beside / between * beside, least.all / 2);
    double s = least.last > beside ? least.last - beside : 0;
    if (second > beside + above) s = std::min(s, second - (beside + above));
    return std::max(s, least.all / 3);
  }
  if (atEnd) {
    // The vector of the last row: the squares of its elements, 1 of them at the end.
    double square = 1, squares = 0;
    for (std::int64_t k = p.last - 1; k >= p.first && squares < 0.563; --k) {
      const double before = square;
      square *= p.e[k] / p.q[k];
      squares += square;
      if (100 * std::max(square, before) < squares) break;
    }
    squares *= 1.05;
    fraction = 0;
    if (squares < 0.563) return least.all * (1 - std::sqrt(squares)) / (1 + squares);
    return least.all / 4;
  }
  fraction = fraction > 0 ? fraction + (1 - fraction) / 3 : 0.25;
  return fraction * least.all;
}

/// The squares of the values of two rows, the smaller one last.
void solvePair(double& q0, double e, double& q1) {
  if (q1 > q0) std::swap(q0, q1);
  const double t = ((q0 - q1) + e) / 2;
  if (!(t > 0)) return;
  double s = q1 * (e / t);
  s = s <= t ? q1 * (e / (t * (1 + std::sqrt(1 + s / t)))) : q1 * (e / (t + std::sqrt(t) * std::sqrt(t + s)));
  const double larger = q0 + (s + e);
  q1 *= q0 / larger;
  q0 = larger;
}

}  // namespace

bool bidiagonalValues(double* diagonal, const double* above, std::int64_t n) {
  constexpr std::int64_t kMostSteps = 40;  // for each row
  const Scratch<double> memory(5 * n);
  double *q = memory.data(), *e = q + n, *nextQ = e + n, *nextE = nextQ + n;
  double* shifts = nextE + n;  // of the part that ends at a row, taken off when it was parted from those behind it
  double largest = 0;
  for (std::int64_t k = 0; k < n; ++k) {
    q[k] = diagonal[k] * diagonal[k];
    e[k] = k + 1 < n ? above[k] * above[k] : 0;
    largest = std::max({largest, q[k], e[k]});
  }
  const double nothing = kEpsilon * kEpsilon * largest;
  constexpr double kTogether = -1;  // with the row behind it
  for (std::int64_t k = 0; k < n; ++k) shifts[k] = e[k] > nothing ? kTogether : 0;
  double shift = 0, rest = 0;  // what has been taken off; the part of it that its digits lack
  Least least;
  std::int64_t begin = -1;  // of the part that `least` is of
  double fraction = 0;
  std::int64_t steps = 0;
  for (std::int64_t last = n - 1; last >= 0;) {
    std::int64_t first = last;
    while (first > 0 && e[first - 1] > nothing) --first;
    if (first != begin) {
      begin = first;
      least = Least();
      if (first > 0) {
        e[first - 1] = 0;
        if (shifts[first - 1] == kTogether) shifts[first - 1] = shift;
      }
    }
    if (last - first < 2) {
      if (last > first) {
        solvePair(q[first], e[first], q[last]);
        diagonal[first] = std::sqrt(q[first] + shift);
      }
      diagonal[last] = std::sqrt(q[last] + shift);
      last = first - 1;
      if (last >= 0) shift = shifts[last], rest = 0;
      begin = -1;
      continue;
    }
    // Values are found at the end of the smaller numbers.
    if (1.5 * q[first] < q[last]) {
      std::reverse(q + first, q + last + 1);
      std::reverse(e + first, e + last);
      least = Least();
    }
    const Part part{q, e, first, last};
    double s = shiftFor(part, least, fraction);
    for (int attempt = 0;; ++attempt) {
      if (++steps > kMostSteps * n) return false;
      const Least found = step(part, s, nextQ, nextE);
      if (found.all >= 0) {
        least = found;
        break;
      }
      if (s == 0 || !(found.all < 0)) return false;  // no numbers
      // Where the last row alone was too small, it says by how much.
      s = attempt == 0 && found.butOne > 0 ? std::max(0.0, (s + found.last) * (1 - 2 * kEpsilon))
          : attempt < 2                    ? s / 4
                                           : 0;
    }
    std::copy(nextQ + first, nextQ + last + 1, q + first);
    std::copy(nextE + first, nextE + last, e + first);
    const double sum = shift + (s + rest);
    rest = (s + rest) - (sum - shift);
    shift = sum;
    if (e[last - 1] <= nothing) {
      diagonal[last] = std::sqrt(q[last] + shift);
      e[last - 1] = 0;
      --last;
      least = {least.butOne, -1, 0, least.lastButOne, 0};
    }
  }
  sortDescending(diagonal, n, {nullptr, 0}, {nullptr, 0});
  return true;
}

}  // namespace tandem::lib
