// The Hurwitz zeta function, the incomplete Gamma functions, and derivatives of the latter in their parameter.
//
// P(a, x) is summed as a power series for x below about a + 1 and as 1 - Q(a, x) by a continued fraction beyond
// (Abramowitz and Stegun 6.5.29, 6.5.31; Lentz's method). Derivatives in `a` of any order come from the same two sums
// over truncated Taylor polynomials in a step of `a`.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <optional>
#include <type_traits>

#include "runtime/device/thread_pool.h"
#include "runtime/lib/clones.h"
#include "runtime/lib/strided.h"

namespace tandem::lib {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr int kMostTerms = 1 << 20;
constexpr double kFarBelow = -1024;   // where too many terms are below 0 to add them one by one
constexpr double kLargeShape = 1e10;  // from which on sums may need more terms than that

/// The sum over k of (1 / r + k)^-2.
[[gnu::always_inline]] inline double trigammaFrom(double r) {
  const double z = r * r;
  // B_2j
  const double tail =
      z *
      (1.0 / 6 - z * (1.0 / 30 -
                      z * (1.0 / 42 -
                           z * (1.0 / 30 - z * (5.0 / 66 - z * (691.0 / 2730 - z * (7.0 / 6 - z * (3617.0 / 510))))))));
  return r + z * 0.5 + r * tail;
}

/// The sum over k of (q + k)^-2, the trigamma function for q > 0, from the smallest term on.
double trigamma(double q) {
  const double steps = q < 10 ? 10 - std::floor(std::min(q, 0.0)) : 0;  // one number of them for all q > 0
  const int count = static_cast<int>(std::min(steps, double{kMostTerms}));
  double sum = trigammaFrom(1 / (q + count));
  for (int k = count - 1; k >= 0; --k) sum += 1 / ((q + k) * (q + k));
  return sum;
}

/// The same for numbers that are not at or below 0, in vectors: all steps are taken, and those that there are not add
/// 0.
[[gnu::always_inline]] inline void trigammas(const double* q, double* out, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    const bool near = q[i] < 10;
    const double r = 1 / (q[i] + (near ? 10.0 : 0.0));
    double sum = trigammaFrom(r);
    for (int k = 9; k >= 0; --k) {
      const double term = 1 / ((q[i] + k) * (q[i] + k));
      sum += near ? term : 0.0;
    }
    out[i] = sum;
  }
}

/// q^-s for s > 1; of negative q for integers. Small integers are a few products.
double inversePower(double q, double s) {
  constexpr double kFew = 8;
  const double size = std::abs(q);
  if (s > kFew || s != std::floor(s) || !(size > 0x1p-100 && size < 0x1p100)) return std::pow(q, -s);
  double power = q * q;
  for (int k = 2; k < static_cast<int>(s); ++k) power *= q;
  return 1 / power;
}

/// The sum over k of (q + k)^-s by Euler-Maclaurin summation from the first q + k above 10 + s; q is no pole.
double zetaSum(double s, double q) {
  if (s == 2) return trigamma(q);
  double sum = 0;
  const double far = 10 + s;
  for (int k = 0; q < far && k < kMostTerms; ++k, q += 1) {
    double term = inversePower(q, s);
    sum += term;
    if (q > 0 && term <= kEpsilon * kEpsilon * std::abs(sum)) return sum;
  }
  if (q == kInf) return sum;
  double power = inversePower(q, s);
  sum += power * (q / (s - 1) + 0.5);
  // B_2j / (2j)!
  static constexpr double kBernoulli[] = {0x1.5555555555555p-4,   -0x1.6c16c16c16c17p-10, 0x1.1566abc011567p-15,
                                          -0x1.bbd779334ef0bp-21, 0x1.66a8f2bf70ebep-26,  -0x1.22805d644267fp-31,
                                          0x1.d6db2c4e09162p-37,  -0x1.7da4e1f79955cp-42, 0x1.355871d652e9ep-47,
                                          -0x1.f57d968caacf1p-53, 0x1.967e1f09c376fp-58,  -0x1.497d9033a2b5cp-63};
  double factor = power * s / q;
  double term = 0;
  for (int j = 0; j < 12; ++j) {
    term = kBernoulli[j] * factor;
    sum += term;
    if (std::abs(term) < kEpsilon * 0.1 * std::abs(sum)) break;
    factor *= (s + 2 * j + 1) / q * ((s + 2 * j + 2) / q);
  }
  return sum;
}

/// Of an integer s and q far below 0. The terms below 0, turned round, are those over the fractions from 1 - f to -q,
/// where f is the fraction of q: zeta(s, f) + (-1)^s (zeta(s, 1 - f) - zeta(s, 1 - q)).
double zetaFarBelow(double s, double q) {
  const double above = q - std::floor(q), below = std::ceil(q) - q;
  const double up = zetaSum(s, above), down = zetaSum(s, below), rest = zetaSum(s, 1 - q);
  if (std::fmod(s, 2) == 0) return up + (down - rest);
  if (above == below) return rest;
  if (up == kInf && down == kInf) return above < below ? kInf : -kInf;
  return up - (down - rest);
}

double hurwitzZeta(double s, double q) {
  if (s == 1) return kInf;
  if (!(s > 1)) return kNan;
  if (q <= 0) {
    if (q == std::floor(q)) return kInf;
    if (s != std::floor(s)) return kNan;  // powers of negative numbers
    if (q < kFarBelow) return zetaFarBelow(s, q);
  }
  return zetaSum(s, q);
}

/// digamma of x >= 1.
double digammaAbove1(double x) {
  double y = 0;
  for (; x < 10; x += 1) y -= 1 / x;
  double z = 1 / (x * x);
  double tail =
      z * (1.0 / 12 - z * (1.0 / 120 -
                           z * (1.0 / 252 - z * (1.0 / 240 - z * (1.0 / 132 - z * (691.0 / 32760 - z * (1.0 / 12)))))));
  return y + std::log(x) - 0.5 / x - tail;
}

/// u - log(1 + u)
double logDistance(double u) {
  if (!(std::abs(u) < 0.2)) return u - std::log1p(u);
  double distance = 0;
  double power = u * u;
  for (int k = 2; k < 40; ++k, power *= -u) distance += power / k;
  return distance;
}

/// log(x^a e^-x / Gamma(a + 1)), without losing digits to its large terms.
double logPrefactor(double a, double x) {
  if (a < 10) return a * std::log(x) - x - std::lgamma(a + 1);
  const double distance = logDistance((x - a) / a);
  double z = 1 / (a * a);
  double stirling = (1.0 / 12 - z * (1.0 / 360 - z * (1.0 / 1260 - z * (1.0 / 1680 - z * (1.0 / 1188))))) / a;
  return -a * distance - 0.5 * std::log(2 * std::numbers::pi * a) - stirling;
}

/// A polynomial in a small step, cut off after the n-th power.
struct Jet {
  static constexpr int kMost = 8;
  int n;
  std::array<double, kMost + 1> c{};

  explicit Jet(int order, double value = 0, double slope = 0) : n(order) {
    c[0] = value;
    if (n > 0) c[1] = slope;
  }
  friend Jet operator*(const Jet& x, const Jet& y) {
    Jet r(x.n);
    for (int i = 0; i <= x.n; ++i)
      for (int j = 0; j <= i; ++j) r.c[i] += x.c[j] * y.c[i - j];
    return r;
  }
  friend Jet operator+(Jet x, const Jet& y) {
    for (int i = 0; i <= x.n; ++i) x.c[i] += y.c[i];
    return x;
  }
  friend Jet operator-(Jet x, const Jet& y) {
    for (int i = 0; i <= x.n; ++i) x.c[i] -= y.c[i];
    return x;
  }
  friend Jet operator/(const Jet& x, const Jet& y) {
    Jet r(x.n);
    for (int i = 0; i <= x.n; ++i) {
      double rest = x.c[i];
      for (int j = 1; j <= i; ++j) rest -= y.c[j] * r.c[i - j];
      r.c[i] = rest / y.c[0];
    }
    return r;
  }
  /// e^x for x.c[0] = 0: r' = x' r.
  static Jet exp(const Jet& x) {
    Jet r(x.n, 1);
    for (int i = 1; i <= x.n; ++i) {
      for (int j = 1; j <= i; ++j) r.c[i] += j * x.c[j] * r.c[i - j];
      r.c[i] /= i;
    }
    return r;
  }
};

/// A number plus `slope` times the small step, as the type that is computed in: a Jet, or the number alone.
template <class V>
V valueOf(int order, double value, double slope = 0) {
  if constexpr (std::is_same_v<V, double>)
    return value;
  else
    return V(order, value, slope);
}
/// Is `step` too small to change any coefficient of `sum`?
bool settled(double sum, double step) { return !(std::abs(step) > kEpsilon * 0.5 * std::abs(sum)); }
bool settled(const Jet& sum, const Jet& step) {
  for (int i = 0; i <= sum.n; ++i)
    if (!settled(sum.c[i], step.c[i])) return false;
  return true;
}

/// The sum over k of x^k / ((a + 1) ... (a + k)).
template <class V>
V lowerSum(double a, double x, int order) {
  V term = valueOf<V>(order, 1);
  V sum = term;
  for (int k = 1; k < kMostTerms; ++k) {
    // A division that waits for none before it.
    term = term * (valueOf<V>(order, x) / valueOf<V>(order, a + k, 1));
    sum = sum + term;
    if (k > 3 && settled(sum, term)) break;
  }
  return sum;
}
constexpr std::int64_t kSums = 8;  // made side by side
/// kSums of them: each ends where it would by itself.
[[gnu::always_inline]] inline void lowerSums(const double* a, const double* x, double* sums) {
  constexpr int kVectors = 2;
  typedef double V __attribute__((vector_size(kSums / kVectors * sizeof(double))));
  V from[kVectors], by[kVectors], term[kVectors], sum[kVectors];
  std::memcpy(&from, a, sizeof from);
  std::memcpy(&by, x, sizeof by);
  for (int v = 0; v < kVectors; ++v) term[v] = sum[v] = V{} + 1;
  auto left = term[0] == term[0], right = left;
  for (int k = 1; k < kMostTerms; ++k) {
    for (int v = 0; v < kVectors; ++v) term[v] = term[v] * (by[v] / (from[v] + static_cast<double>(k)));
    sum[0] = left ? sum[0] + term[0] : sum[0];
    sum[1] = right ? sum[1] + term[1] : sum[1];
    if (k <= 3) continue;
    // Neither is negative.
    left &= term[0] > kEpsilon * 0.5 * sum[0];
    right &= term[1] > kEpsilon * 0.5 * sum[1];
    const auto both = left | right;
    if ((both[0] | both[1] | both[2] | both[3]) == 0) break;
  }
  std::memcpy(sums, &sum, sizeof sum);
}
/// The continued fraction 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - 2 (2 - a) / (x + 5 - a - ...))).
template <class V>
V upperFraction(double a, double x, int order) {
  const V one = valueOf<V>(order, 1), two = valueOf<V>(order, 2);
  V b = valueOf<V>(order, x + 1 - a, -1);
  V d = one / b;
  V c = valueOf<V>(order, 1e300);
  V h = d;
  for (int i = 1; i < kMostTerms; ++i) {
    const V numerator = valueOf<V>(order, i * (a - i), i);
    b = b + two;
    d = one / (numerator * d + b);
    c = b + numerator / c;
    const V next = h * (d * c);
    const V step = next - h;
    h = next;
    if (settled(h, step)) break;
  }
  return h;
}
/// Is the sum over all powers slow to settle, or, where the `upper` part is wanted, so near 1 that digits would be
/// lost?
bool inTail(double a, double x, bool upper) { return a < 1 && upper ? x > 0.75 : x > a + 1; }

/// P(a, x), or Q, of large a by Temme's uniform expansion, the first two terms of it (DLMF 8.12).
double largeGamma(double a, double x, bool upper) {
  const double u = (x - a) / a, side = (x < a) == upper ? -1 : 1;
  if (!(std::abs(u) < 0.2)) return side < 0 ? 1 : 0;
  const double square = a * logDistance(u);
  const double rest = std::exp(-square) / std::sqrt(2 * std::numbers::pi * a) * (u / 12 - 1.0 / 3);
  return std::erfc(side * std::sqrt(square)) / 2 + (upper ? rest : -rest);
}

/// P(a, x), or Q, where they are no sum of powers times `scale`: none where they are.
std::optional<double> incompleteGammaAtOnce(double a, double x, bool upper, double& scale) {
  if (!(a >= 0) || !(x >= 0) || (a == 0 && x == 0) || (a == kInf && x == kInf)) return kNan;
  if (a == 0 || x == kInf) return upper ? 0 : 1;
  if (x == 0 || a == kInf) return upper ? 1 : 0;
  if (a > kLargeShape) return largeGamma(a, x, upper);
  scale = std::exp(logPrefactor(a, x));
  if (!inTail(a, x, upper)) return {};
  double q = scale * a * upperFraction<double>(a, x, 0);
  return upper ? q : 1 - q;
}

void incompleteGammas(const double* a, const double* x, double* out, std::int64_t n, bool upper) {
  std::array<double, kSums> from, by, scales, sums;
  std::array<std::int64_t, kSums> places;
  std::int64_t waiting = 0;
  auto makeSums = [&] {
    // Of fewer the last is made again.
    for (std::int64_t j = waiting; j < kSums; ++j) from[j] = from[waiting - 1], by[j] = by[waiting - 1];
    withAvx2([&]() TANDEM_INLINED { lowerSums(from.data(), by.data(), sums.data()); });
    for (std::int64_t j = 0; j < waiting; ++j) {
      const double p = scales[j] * sums[j];
      out[places[j]] = upper ? 1 - p : p;
    }
    waiting = 0;
  };
  for (std::int64_t i = 0; i < n; ++i) {
    double scale = 0;
    if (const std::optional<double> value = incompleteGammaAtOnce(a[i], x[i], upper, scale)) {
      out[i] = *value;
      continue;
    }
    from[waiting] = a[i], by[waiting] = x[i], scales[waiting] = scale, places[waiting] = i;
    if (++waiting == kSums) makeSums();
  }
  if (waiting > 0) makeSums();
}

/// The `order`-th derivative of P in a, divided by x^(a-1) e^-x / Gamma(a).
double cdfSlope(double a, double x, int order) {
  if (!(a > 0) || !(x >= 0) || x == kInf || a == kInf) return kNan;
  if (x == 0) return 0;
  // x^step Gamma(a + 1) / Gamma(a + 1 + step)
  Jet exponent(order, 0, std::log(x) - digammaAbove1(a + 1));
  double sign = -1;
  for (int k = 2; k <= order; ++k, sign = -sign) exponent.c[k] = sign * hurwitzZeta(k, a + 1) / k;
  Jet ratio = Jet::exp(exponent);
  double factorial = 1;
  for (int k = 2; k <= order; ++k) factorial *= k;
  if (inTail(a, x, true)) {
    Jet tail = ratio * Jet(order, 1, 1 / a) * upperFraction<Jet>(a, x, order);
    return order == 0 ? kNan : -factorial * x * tail.c[order];
  }
  return factorial * (x / a) * (ratio * lowerSum<Jet>(a, x, order)).c[order];
}

/// `run(x, y, out, n)` over pieces of the operands.
template <class F>
void eachPiece(const LibraryCall& call, F run) {
  Contiguous first(call.inputs[0]);
  Contiguous second(call.inputs[1]);
  const auto* x = first.as<double>();
  const auto* y = second.as<double>();
  auto* out = call.outputs[0].as<double>();
  parallelFor(call.outputs[0].numel(), 512,
              [&](std::int64_t begin, std::int64_t end) { run(x + begin, y + begin, out + begin, end - begin); });
}
template <class F>
void elementwise(const LibraryCall& call, F f) {
  eachPiece(call, [&](const double* x, const double* y, double* out, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = f(x[i], y[i]);
  });
}

void zetas(const double* s, const double* q, double* out, std::int64_t n) {
  constexpr std::int64_t kTogether = 64;
  for (std::int64_t i = 0; i < n; i += kTogether) {
    const std::int64_t count = std::min(kTogether, n - i);
    bool plain = true;
    for (std::int64_t k = i; k < i + count; ++k) plain &= (s[k] == 2) & !(q[k] <= 0);
    if (plain)
      withHostIsa([&]() TANDEM_INLINED { trigammas(q + i, out + i, count); });
    else
      for (std::int64_t k = i; k < i + count; ++k) out[k] = hurwitzZeta(s[k], q[k]);
  }
}

}  // namespace

void zeta(const LibraryCall& call) { eachPiece(call, zetas); }
void gammainc(const LibraryCall& call) {
  bool upper = AttrReader(call.attrs).integer() != 0;
  eachPiece(call, [upper](const double* a, const double* x, double* out, std::int64_t n) {
    incompleteGammas(a, x, out, n, upper);
  });
}
void gamma_cdf_slope(const LibraryCall& call) {
  auto order = static_cast<int>(AttrReader(call.attrs).integer());
  if (order < 1 || order > Jet::kMost)
    fail("gamma_cdf_slope: derivatives of order 1 to ", Jet::kMost, " are there, not of order ", order);
  elementwise(call, [order](double a, double x) { return cdfSlope(a, x, order); });
}

}  // namespace tandem::lib
