// The classical orthogonal polynomials of a degree for each element, in sums of two numbers: recurrences lose digits
// with the degree, and beside zeros all of them.
//
// Chebyshev's follow from U, whose degree is doubled bit by bit, U_2k = U_k^2 - U_(k-1)^2; Legendre's, Laguerre's and
// Hermite's from their recurrences of three terms (Abramowitz and Stegun 22.7, 22.12). Values carry an exponent of
// their own, so that they overflow at the end alone.
#include "runtime/lib/polynomials.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// An unevaluated sum, |lo| at most half an ULP of hi.
struct Two {
  double hi = 0;
  double lo = 0;
};
Two fastSum(double a, double b) {
  double s = a + b;
  return {s, b - (s - a)};
}
Two sum(double a, double b) {
  double s = a + b;
  double t = s - a;
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
  double p = a.hi * b.hi;
  return fastSum(p, std::fma(a.hi, b.hi, -p) + (a.hi * b.lo + a.lo * b.hi));
}
Two operator*(Two a, double b) {
  double p = a.hi * b;
  return fastSum(p, std::fma(a.hi, b, -p) + a.lo * b);
}
Two operator/(Two a, double b) {
  double q = a.hi / b;
  return fastSum(q, (std::fma(-q, b, a.hi) + a.lo) / b);
}
Two scaled(Two a, int exponent) { return {std::ldexp(a.hi, exponent), std::ldexp(a.lo, exponent)}; }

/// Two successive values of a sequence, times 2^-exponent.
struct Successive {
  Two before;
  Two now;
  std::int64_t exponent = 0;

  void normalise() {
    int e = 0;
    double larger = std::max(std::abs(before.hi), std::abs(now.hi));
    if (larger == 0) return;
    std::frexp(larger, &e);
    before = scaled(before, -e);
    now = scaled(now, -e);
    exponent += e;
  }
  [[nodiscard]] double result(Two value) const {
    return std::ldexp(value.hi, static_cast<int>(std::clamp<std::int64_t>(exponent, -5000, 5000)));
  }
};

double chebyshev(Polynomial family, Two x, std::int64_t n) {
  Successive u{{0, 0}, {1, 0}};  // U_(k-1), U_k
  for (int bit = 63; bit >= 0; --bit) {
    Two a = u.before;
    Two b = u.now;
    Two even = (b - a) * (b + a);
    bool odd = (n >> bit & 1) != 0;
    u.before = odd ? even : a * (b - x * a) * 2;
    u.now = odd ? b * (x * b - a) * 2 : even;
    u.exponent *= 2;
    u.normalise();
  }
  switch (family) {
  case Polynomial::ChebyshevT:
    return u.result(u.now - x * u.before);
  case Polynomial::ChebyshevU:
    return u.result(u.now);
  case Polynomial::ChebyshevV:
    return u.result(u.now - u.before);
  default:
    return u.result(u.now + u.before);
  }
}

double recurrence(Polynomial family, double x, std::int64_t n) {
  Successive p{{0, 0}, {1, 0}};
  for (std::int64_t i = 0; i < n; ++i) {
    auto k = static_cast<double>(i);
    Two next;
    switch (family) {
    case Polynomial::HermiteH:
      next = (p.now * x - p.before * k) * 2;
      break;
    case Polynomial::HermiteHe:
      next = p.now * x - p.before * k;
      break;
    case Polynomial::Laguerre:
      next = (sum(2 * k + 1, -x) * p.now - p.before * k) / (k + 1);
      break;
    default:
      next = (p.now * x * (2 * k + 1) - p.before * k) / (k + 1);
    }
    p.before = p.now;
    p.now = next;
    double size = std::max(std::abs(p.before.hi), std::abs(p.now.hi));
    if (size > 0x1p400 || size < 0x1p-400) p.normalise();
  }
  return p.result(p.now);
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

double polynomial(Polynomial family, bool shifted, double x, double degree) {
  if (std::isnan(degree)) return kNan;
  degree = std::trunc(degree);
  if (degree < 0) return 0;
  if (degree == 0) return 1;
  bool hermite = family == Polynomial::HermiteH || family == Polynomial::HermiteHe;
  // Hermite polynomials of more overflow; the recurrences of others would run for minutes.
  if (std::isnan(x) || degree > (hermite ? 512 : 0x1p31)) return kNan;
  auto n = static_cast<std::int64_t>(degree);
  if (std::abs(x) > 0x1p500) return leading(family, shifted, x, n);
  if (family > Polynomial::ChebyshevW) return recurrence(family, x, n);
  return chebyshev(family, shifted ? sum(2 * x, -1) : Two{x, 0}, n);
}

}  // namespace

void orthogonal_polynomial_plain(const LibraryCall& call) {
  AttrReader attrs(call.attrs);
  auto family = static_cast<Polynomial>(attrs.integer());
  bool shifted = attrs.integer() != 0;
  Contiguous points(call.inputs[0]);
  Contiguous degrees(call.inputs[1]);
  const auto* x = points.as<double>();
  const auto* n = degrees.as<double>();
  auto* out = call.outputs[0].as<double>();
  parallelFor(call.outputs[0].numel(), 64, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) out[i] = polynomial(family, shifted, x[i], n[i]);
  });
}

}  // namespace tandem::lib
