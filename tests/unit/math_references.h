// What functions of the vector math should give, where glibc lacks them, and how large the terms are that cancel beside
// a function's zeros: for test_vector_math.cpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "codegen/math/math.h"
#include "tests/unit/scalar_builder.h"

namespace tandem::test {

using B = ScalarBuilder;

// In the format of their argument.

template <class T>
T refSigmoid(T x) {
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}
template <class T>
T refSilu(T x) {
  return std::isinf(x) ? (x > 0 ? x : T{-0.0}) : x * refSigmoid(x);
}
template <class T>
T refSoftplus(T x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}
template <class T>
T refLogsigmoid(T x) {
  return -refSoftplus(-x);
}
/// x/2 erfc(-x / sqrt(2)), the argument to twice the precision: its error is otherwise multiplied by x^2.
template <class T>
T refGelu(T x) {
  if (std::isinf(x)) return x > 0 ? x : T{-0.0};
  const T s = static_cast<T>(0.70710678118654752440084436210484903928L);
  const T s2 = s * s, sl = (T{0.5} - s2 - std::fma(s, s, -s2)) * s;
  const T c = -x * s, cl = std::fma(-x, s, -c) - x * sl;
  const T slope = static_cast<T>(1.12837916709551257389615890312154517L);
  return x / 2 * (std::erfc(c) - cl * slope * std::exp(-c * c));
}

/// erfc(-x / sqrt(2)) / 2, the argument as above.
template <class T>
T refNormalCdf(T x) {
  if (std::isinf(x)) return x > 0 ? T{1} : T{0};
  const T s = static_cast<T>(0.70710678118654752440084436210484903928L);
  const T s2 = s * s, sl = (T{0.5} - s2 - std::fma(s, s, -s2)) * s;
  const T c = -x * s, cl = std::fma(-x, s, -c) - x * sl;
  const T slope = static_cast<T>(1.12837916709551257389615890312154517L);
  return (std::erfc(c) - cl * slope * std::exp(-c * c)) / 2;
}

template <class T>
T refGeluSlope(T x) {
  if (std::isinf(x)) return std::numeric_limits<T>::quiet_NaN();
  const T peak = static_cast<T>(0.39894228040143267793994605993438187L);
  return refNormalCdf(x) + x * peak * std::exp(-x * x / 2);
}

template <class T>
inline constexpr T kPi = static_cast<T>(3.14159265358979323846264338327950288L);

/// glibc's, without its global sign.
inline double refLgamma(double x) {
  int sign;
  return lgamma_r(x, &sign);
}
inline long double refLgamma(long double x) {
  int sign;
  return lgammal_r(x, &sign);
}
/// Recurrence up to 20, the asymptotic series (Abramowitz and Stegun, 6.3.18), reflection.
template <class T>
T refDigamma(T x) {
  if (x == 0) return std::copysign(std::numeric_limits<T>::infinity(), -x);
  if (x < 0) {
    const T f = x - std::nearbyint(x), quarter = T{0.5} - std::fabs(f);
    if (f == 0 || std::isinf(x)) return std::numeric_limits<T>::quiet_NaN();
    return refDigamma(1 - x) - std::copysign(kPi<T> * std::sin(kPi<T> * quarter) / std::sin(kPi<T> * std::fabs(f)), f);
  }
  T sum = 0;
  while (x < 20) sum -= 1 / x++;
  if (std::isinf(x)) return x;
  const T z = 1 / (x * x);
  constexpr T tail[] = {T{1} / 12,       T{-1} / 120, T{1} / 252,      T{-1} / 240,     T{1} / 132,
                        T{-691} / 32760, T{1} / 12,   T{-3617} / 8160, T{43867} / 14364};
  T series = 0;
  for (int k = 8; k >= 0; --k) series = (series + tail[k]) * z;
  return sum + (std::log(x) - 1 / (2 * x) - series);
}
/// Newton's method on erf, or on erfc where that is exact, from what the function itself gives in float64.
template <class T>
T refErfinv(T x) {
  const T a = std::fabs(x);
  if (!(a < 1))
    return a == 1 ? std::copysign(std::numeric_limits<T>::infinity(), x) : std::numeric_limits<T>::quiet_NaN();
  B b;
  T y = std::fabs(B::get<double>(math::erfinv(b, B::make(static_cast<double>(a)))));
  for (int i = 0; i < (sizeof(T) > 8 ? 2 : 1); ++i) {
    const T miss = a < T(0.5) ? std::erf(y) - a : (1 - a) - std::erfc(y);
    y -= miss * std::exp(y * y) * std::sqrt(kPi<T>) / 2;
  }
  return std::copysign(y, x);
}
template <class T>
T refLogit(T x) {
  return x == 0 ? -std::numeric_limits<T>::infinity() : std::log(x) - std::log1p(-x);
}

inline double refJ0(double x) { return ::j0(x); }
inline double refJ1(double x) { return ::j1(x); }
inline double refY0(double x) { return x < 0 ? std::numeric_limits<double>::quiet_NaN() : ::y0(x); }
inline double refY1(double x) { return x < 0 ? std::numeric_limits<double>::quiet_NaN() : ::y1(x); }
inline long double refJ0(long double x) { return ::j0l(x); }
inline long double refJ1(long double x) { return ::j1l(x); }
inline long double refY0(long double x) { return x < 0 ? std::numeric_limits<long double>::quiet_NaN() : ::y0l(x); }
inline long double refY1(long double x) { return x < 0 ? std::numeric_limits<long double>::quiet_NaN() : ::y1l(x); }
/// e^-|x| I(x): the power series, beyond 20 that at infinity (Abramowitz and Stegun, 9.6.10 and 9.7.1).
template <class T>
T refScaledI(T x, int order) {
  const T a = std::fabs(x), sign = order == 1 && std::signbit(x) ? -1 : 1;
  if (std::isinf(a)) return sign * 0;
  T sum = 0, term = 1;
  if (a > 20) {
    for (int k = 0; k < 40; ++k) {
      sum += term;
      term *= (T((2 * k + 1) * (2 * k + 1)) - 4 * order) / (8 * a * (k + 1));
    }
    return sign * (sum / std::sqrt(2 * kPi<T> * a));
  }
  term = order == 0 ? T{1} : a / 2;
  for (int k = 1; k < 90; ++k) {
    sum += term;
    term *= (a / 2) * (a / 2) / (T(k) * (k + order));
  }
  return sign * (sum * std::exp(-a));
}
template <class T>
T refI(T x, int order) {
  const T e = std::exp(std::fabs(x) / 2);
  return std::isinf(e) ? std::copysign(e, order == 1 ? x : e) : (refScaledI(x, order) * e) * e;
}
/// The continued fraction of erfc (7.1.14) where erfc underflows before long.
template <class T>
T refErfcx(T x) {
  if (x < -30) return std::exp(T{900});
  if (x < 8) return std::exp(x * x) * std::erfc(x) * (1 + std::fma(x, x, -(x * x)));
  if (std::isinf(x)) return 0;
  T f = x;
  for (int k = 60; k > 0; --k) f = x + T(k) / 2 / f;
  return 1 / (f * std::sqrt(kPi<T>));
}
template <class T>
T refLogNdtr(T x) {
  const T s = std::sqrt(T{0.5});
  return x < -1 ? std::log(refErfcx(-x * s) / 2) - x / 2 * x : std::log1p(-std::erfc(x * s) / 2);
}
/// K of order 0, 1/3 or 1 for x >= 2, times e^x: Temme's continued fraction (J. Comput. Phys. 19, 324).
template <class T>
T refScaledTailK(T x, T order) {
  const T mu = order == 1 ? 0 : order, a1 = T{0.25} - mu * mu;
  T b = 2 * (1 + x), d = 1 / b, delta = d, h = d, q1 = 0, q2 = 1, q = a1, c = a1, a = -a1, s = 1 + q * delta;
  for (int i = 2; i < 500; ++i) {
    a -= 2 * (i - 1);
    c = -a * c / i;
    const T next = (q1 - b * q2) / a;
    q1 = q2, q2 = next, q += c * next, b += 2;
    d = 1 / (b + a * d);
    delta *= b * d - 1;
    h += delta;
    const T more = q * delta;
    s += more;
    if (std::fabs(more) < std::numeric_limits<T>::epsilon() / 4 * s) break;
  }
  const T k = std::sqrt(kPi<T> / (2 * x)) / s;
  return order == 1 ? k * (x + T{0.5} - a1 * h) / x : k;
}
/// Below 2 the logarithmic series (9.6.13), and K1 of K0 by their Wronskian with I (9.6.15).
template <class T>
T refK(T x, int order, bool scaled) {
  if (!(x > 0)) return x == 0 ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::quiet_NaN();
  if (std::isinf(x)) return 0;
  if (x >= 2) {
    const T k = refScaledTailK(x, T(order)), e = std::exp(-x / 2);
    return scaled ? k : k * e * e;
  }
  const T z = x * x / 4, euler = static_cast<T>(0.57721566490153286060651209008240243L);
  T i0 = 1, i1 = x / 2, k0 = -(std::log(x / 2) + euler), term = 1, harmonic = 0;
  const T log = k0;
  for (int k = 1; k < 30; ++k) {
    term *= z / (T(k) * k);
    harmonic += T{1} / k;
    i0 += term;
    i1 += term * (x / 2) / (k + 1);
    k0 += term * (log + harmonic);
  }
  return (order == 0 ? k0 : (1 / x - i1 * k0) / i0) * (scaled ? std::exp(x) : 1);
}
template <class T>
T refSphericalJ0(T x) {
  return x == 0 ? T{1} : std::isinf(x) ? T{0} : std::sin(x) / x;
}
/// Of the product with pi as the format of the argument, the next narrower one, rounds it.
template <class T>
T refSinc(T x) {
  using Narrow = std::conditional_t<std::is_same_v<T, double>, float, double>;
  const T a = static_cast<Narrow>(x) * kPi<Narrow>;
  return a == 0 ? T{1} : std::sin(a) / a;
}
/// A step of Newton's method from what the function itself gives in float64: on the tail, or beside 1/2 on the rest.
template <class T>
T refNdtri(T p) {
  if (!(p > 0 && p < 1))
    return p == 0 || p == 1 ? std::copysign(std::numeric_limits<T>::infinity(), p - T{0.5})
                            : std::numeric_limits<T>::quiet_NaN();
  B b;
  const T x = B::get<double>(math::ndtri(b, B::make(static_cast<double>(p)))), s = std::sqrt(T{0.5});
  const T tail = std::min(p, 1 - p), a = std::fabs(x);
  const T miss = tail < T{0.125} ? std::copysign(tail - std::erfc(a * s) / 2, x) : std::erf(x * s) / 2 - (p - T{0.5});
  return x - miss * std::exp(x * x / 2) * std::sqrt(2 * kPi<T>);
}
/// Ai by its power series (10.4.2), by K of order 1/3 (10.4.14), and far below 0 by the series at infinity (10.4.60),
/// whose phase needs more digits than a long double has.
inline long double refAiry(long double x) {
  if (std::isnan(x)) return x;
  if (x > 200 || std::isinf(x)) return 0;
  const long double a = std::fabs(x), root = std::sqrt(a);
  if (x > 2.5L) {
    const long double zeta = a * root * 2 / 3;
    return std::sqrt(x / 3) / kPi<long double> * refScaledTailK(zeta, 1 / 3.0L) * std::exp(-zeta);
  }
  if (x > -8) {
    const long double cube = x * x * x;
    long double f = 1, g = x, even = f, odd = g;
    for (int k = 0; k < 40; ++k) {
      even *= cube / ((3 * k + 2) * (3 * k + 3)), odd *= cube / ((3 * k + 3) * (3 * k + 4));
      f += even, g += odd;
    }
    return 0.355028053887817239260063186004183177L * f - 0.258819403792806798405183560189203963L * g;
  }
  using Quad = __float128;
  const Quad exactRoot = root + (a - static_cast<Quad>(root) * root) / (2 * root), zeta = exactRoot * a * 2 / 3;
  const Quad turn = static_cast<Quad>(6.28318530717958647692528676655900577L) - 1.00331152253366640e-19L;
  const long double turns = std::nearbyint(static_cast<long double>(zeta / turn));
  const long double phase = static_cast<long double>(zeta - turns * turn) + kPi<long double> / 4;
  const long double z = static_cast<long double>(zeta);
  long double sums[2] = {1, 0}, term = 1;
  for (int k = 1; k <= 12; ++k) {
    term *= (6.0L * k - 5) * (6 * k - 3) * (6 * k - 1) / (216.0L * k * (2 * k - 1)) / z;
    sums[k % 2] += k % 4 < 2 ? term : -term;
  }
  return (std::sin(phase) * sums[0] - std::cos(phase) * sums[1]) / (std::sqrt(kPi<long double>) * std::sqrt(root));
}
inline long double airyTerms(long double x) { return x < 0 ? 1 / std::sqrt(kPi<long double> * std::sqrt(-x)) : 0; }
inline long double besselTerms(long double x) {
  return std::fabs(x) > 0.5L ? std::sqrt(2 / (kPi<long double> * std::fabs(x))) : 0;
}

// The size of the terms that cancel, in sum, beside a function's zeros.
inline long double gammaTerms(long double x) { return x < 0 ? std::fmax(1.0L, refLgamma(-x)) : 1; }
inline long double digammaTerms(long double x) { return x < 0 ? std::fmax(1.0L, 2 * std::log(-x)) : 1; }
inline long double unitTerms(long double) { return 1; }
// Never 0: whether what underflows is -0 is left open.
inline long double slopeTerms(long double x) {
  const long double a = std::fabs(x), peak = 0.39894228040143267793994605993438187L;
  const long double least = std::numeric_limits<double>::denorm_min();
  return x >= 0 ? 1 : std::fmax(least, refNormalCdf(x) + (std::isinf(a) ? 0 : a * peak * std::exp(-a * a / 2)));
}

}  // namespace tandem::test
