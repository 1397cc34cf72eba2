// The classical orthogonal polynomials of a degree for each element, in sums of two numbers: recurrences lose digits
// with the degree, and beside zeros all of them.
//
// Chebyshev's follow from U, whose degree is doubled bit by bit, U_2k = U_k^2 - U_(k-1)^2; Legendre's, Laguerre's and
// Hermite's from their recurrences of three terms (Abramowitz and Stegun 22.7, 22.12). Values carry an exponent of
// their own, so that they overflow at the end alone.
#include "runtime/lib/functions/polynomials.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <immintrin.h>
#include <limits>
#include <optional>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/strided.h"

#pragma GCC target("avx2,fma")  // which generated code needs too

namespace tandem::lib {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Four elements of one degree at a time, each by itself.
constexpr std::int64_t kLanes = 4;
using Vector = __m256d;
using Integers = std::int64_t __attribute__((vector_size(32)));

Vector all(double x) { return _mm256_set1_pd(x); }
Vector magnitude(Vector x) { return _mm256_andnot_pd(all(-0.0), x); }
Vector fma(Vector a, Vector b, Vector c) { return _mm256_fmadd_pd(a, b, c); }
Integers bitsOf(Vector x) { return reinterpret_cast<Integers>(x); }

/// An unevaluated sum, |lo| at most half an ULP of hi.
struct Two {
  Vector hi, lo;
};
Two fastSum(Vector a, Vector b) {
  Vector s = a + b;
  return {s, b - (s - a)};
}
Two sum(Vector a, Vector b) {
  Vector s = a + b;
  Vector t = s - a;
  return {s, (a - (s - t)) + (b - t)};
}
Two operator-(Two a) { return {-a.hi, -a.lo}; }
Two operator+(Two a, Two b) {
  Two high = sum(a.hi, b.hi);
  Two low = sum(a.lo, b.lo);
  Two partial = fastSum(high.hi, high.lo + low.hi);
  return fastSum(partial.hi, partial.lo + low.lo);
}
Two operator-(Two a, Two b) { return a + -b; }
Two operator*(Two a, Two b) {
  Vector p = a.hi * b.hi;
  return fastSum(p, fma(a.hi, b.hi, -p) + (a.hi * b.lo + a.lo * b.hi));
}
Two operator*(Two a, Vector b) {
  Vector p = a.hi * b;
  return fastSum(p, fma(a.hi, b, -p) + a.lo * b);
}
Two operator*(Two a, double b) { return a * all(b); }
Two operator/(Two a, double b) {
  Vector q = a.hi / all(b);
  return fastSum(q, (fma(-q, all(b), a.hi) + a.lo) / all(b));
}

/// Two successive values of a sequence, times 2^-exponent.
struct Successive {
  Two before;
  Two now;
  Integers exponent;

  Vector larger() const { return _mm256_max_pd(magnitude(before.hi), magnitude(now.hi)); }
  /// Brings the larger one to [1/2, 1), in the elements where `where` has all bits.
  void normalise(Integers where) {
    const Vector size = larger();
    const Integers e = ((bitsOf(size) >> 52) - 1022) & where & (bitsOf(size) != 0);
    const Vector scale = reinterpret_cast<Vector>((1023 - e) << 52);
    for (Two* t : {&before, &now}) *t = {t->hi * scale, t->lo * scale};
    exponent += e;
  }
  void result(Two value, double* out) const {
    // One multiplication where the power of two is a normal number.
    if (_mm256_movemask_pd(reinterpret_cast<Vector>((exponent < -1022) | (exponent > 1023))) == 0)
      return _mm256_storeu_pd(out, value.hi * reinterpret_cast<Vector>((exponent + 1023) << 52));
    for (std::int64_t i = 0; i < kLanes; ++i)
      out[i] = std::ldexp(value.hi[i], static_cast<int>(std::clamp<std::int64_t>(exponent[i], -5000, 5000)));
  }
};

void chebyshev(Polynomial family, Two x, std::int64_t n, double* out) {
  Successive u{{all(0), all(0)}, {all(1), all(0)}, Integers{}};  // U_(k-1), U_k
  for (int bit = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n))) - 1; bit >= 0; --bit) {
    Two a = u.before;
    Two b = u.now;
    Two even = (b - a) * (b + a);
    bool odd = (n >> bit & 1) != 0;
    u.before = odd ? even : a * (b - x * a) * 2;
    u.now = odd ? b * (x * b - a) * 2 : even;
    u.exponent *= 2;
    u.normalise(~Integers{});
  }
  switch (family) {
  case Polynomial::ChebyshevT:
    return u.result(u.now - x * u.before, out);
  case Polynomial::ChebyshevU:
    return u.result(u.now, out);
  case Polynomial::ChebyshevV:
    return u.result(u.now - u.before, out);
  default:
    return u.result(u.now + u.before, out);
  }
}

void recurrence(Polynomial family, Vector x, std::int64_t n, double* out) {
  Successive p{{all(0), all(0)}, {all(1), all(0)}, Integers{}};
  for (std::int64_t i = 0; i < n; ++i) {
    auto k = static_cast<double>(i);
    Two next = p.now;
    switch (family) {
    case Polynomial::HermiteH:
      next = (p.now * x - p.before * k) * 2;
      break;
    case Polynomial::HermiteHe:
      next = p.now * x - p.before * k;
      break;
    case Polynomial::Laguerre:
      next = (sum(all(2 * k + 1), -x) * p.now - p.before * k) / (k + 1);
      break;
    default:
      next = (p.now * x * (2 * k + 1) - p.before * k) / (k + 1);
    }
    p.before = p.now;
    p.now = next;
    const Vector size = p.larger();
    const Integers far = (size > 0x1p400) | (size < 0x1p-400);
    if (_mm256_movemask_pd(reinterpret_cast<Vector>(far)) != 0) p.normalise(far);
  }
  p.result(p.now, out);
}

/// Where x^n is all that counts.
double leading(Polynomial family, bool shifted, double x, std::int64_t n) {
  if (family == Polynomial::Laguerre) x = -x;
  if (n > 2) return x < 0 && n % 2 != 0 ? -kInf : kInf;
  double first = 1;
  double second = 1;
  switch (family) {
  case Polynomial::ChebyshevT:
    second = 2;
    break;
  case Polynomial::Laguerre:
    second = 0.5;
    break;
  case Polynomial::Legendre:
    second = 1.5;
    break;
  case Polynomial::HermiteHe:
    break;
  default:
    first = 2;
    second = 4;
  }
  if (shifted) {
    first *= 2;
    second *= 4;
  }
  return n == 1 ? first * x : second * x * x;
}

/// The value where no formula is needed.
std::optional<double> simple(Polynomial family, bool shifted, double x, double degree) {
  if (std::isnan(degree)) return kNan;
  degree = std::trunc(degree);
  if (degree < 0) return 0;
  if (degree == 0) return 1;
  bool hermite = family == Polynomial::HermiteH || family == Polynomial::HermiteHe;
  // Hermite polynomials of more overflow; the recurrences of others would run for minutes.
  if (std::isnan(x) || degree > (hermite ? 512 : 0x1p31)) return kNan;
  if (std::abs(x) > 0x1p500) return leading(family, shifted, x, static_cast<std::int64_t>(degree));
  return {};
}

/// Is a formula needed, by which elements of a degree are computed together?
bool isPlain(Polynomial family, double x, double degree) {
  const bool hermite = family == Polynomial::HermiteH || family == Polynomial::HermiteHe;
  return degree >= 1 && degree <= (hermite ? 512 : 0x1p31) && std::abs(x) <= 0x1p500;
}

/// kLanes elements of one degree.
void polynomials(Polynomial family, bool shifted, const double* points, std::int64_t n, double* out) {
  const Vector x = _mm256_loadu_pd(points);
  if (family > Polynomial::ChebyshevW) return recurrence(family, x, n, out);
  chebyshev(family, shifted ? sum(2 * x, all(-1)) : Two{x, all(0)}, n, out);
}

constexpr std::int64_t kBlock = 64;  // elements of which those of one degree are looked for

/// At most kBlock elements, those of a degree together, wherever they are.
void block(Polynomial family, bool shifted, const double* x, const double* n, std::int64_t count, double* out) {
  std::array<std::int64_t, kBlock> left;
  std::int64_t most = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (isPlain(family, x[i], n[i]))
      left[most++] = i;
    else
      out[i] = *simple(family, shifted, x[i], n[i]);
  }
  while (most > 0) {
    const double degree = n[left[0]];
    std::array<std::int64_t, kBlock> same;
    std::int64_t found = 0, kept = 0;
    for (std::int64_t k = 0; k < most; ++k) {
      const std::int64_t i = left[k];
      const bool is = n[i] == degree;
      same[found] = left[kept] = i;
      found += is ? 1 : 0;
      kept += is ? 0 : 1;
    }
    most = kept;
    for (std::int64_t k = 0; k < found; k += kLanes) {
      const std::int64_t lanes = std::min(kLanes, found - k);
      std::array<double, kLanes> points, values;
      for (std::int64_t lane = 0; lane < kLanes; ++lane) points[lane] = x[same[k + std::min(lane, lanes - 1)]];
      polynomials(family, shifted, points.data(), static_cast<std::int64_t>(degree), values.data());
      for (std::int64_t lane = 0; lane < lanes; ++lane) out[same[k + lane]] = values[lane];
    }
  }
}

}  // namespace

void orthogonal_polynomial(const LibraryCall& call) {
  AttrReader attrs(call.attrs);
  auto family = static_cast<Polynomial>(attrs.integer());
  bool shifted = attrs.integer() != 0;
  Contiguous points(call.inputs[0]);
  Contiguous degrees(call.inputs[1]);
  const auto* x = points.as<double>();
  const auto* n = degrees.as<double>();
  auto* out = call.outputs[0].as<double>();
  parallelFor(call.outputs[0].numel(), kBlock, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; i += kBlock)
      block(family, shifted, x + i, n + i, std::min(kBlock, end - i), out + i);
  });
}

}  // namespace tandem::lib
