// asin, acos, atan, atan2.
#pragma once

#include "codegen/math/common.h"

namespace tandem::math {
namespace detail {

/// What asin and acos share: asin(s + ...) = s + lo with s = |x|, or sqrt((1 - |x|) / 2) where |x| > 1/2 (`big`).
template <class B>
struct AsinArg {
  Val<B> big, s, lo;
};
template <class B>
AsinArg<B> asinCore(const Val<B>& x) {
  Val<B> a = abs(x), big = a > 0.5, h = fma(a, -0.5, 0.5);
  Val<B> z = select(big, h, a * a), g = sqrt(h), gl = fma(-g, g, h) / fma(g, 2, 0x1p-100);
  Val<B> s = select(big, g, a), sl = select(big, gl, 0);
  Val<B> p = horner(z, {0x1.33d432p-5, 0x1.d7924cp-7, 0x1.04af34p-5, 0x1.6caab6p-5, 0x1.33389ep-4, 0x1.55554cp-3},
                    {0x1.dbd0aa423a454p-6, -0x1.f482a93b7aa18p-7, 0x1.219b4b48f6114p-6, 0x1.5ee90ddd7195fp-8,
                     0x1.530f26d4e94f6p-7, 0x1.78062e304c68cp-7, 0x1.c9d2632703810p-7, 0x1.1c4d1840714e2p-6,
                     0x1.6e8bb311d7ebep-6, 0x1.f1c71c15377d1p-6, 0x1.6db6db6e40549p-5, 0x1.3333333332e31p-4,
                     0x1.5555555555556p-3});
  return {big, s, fma(s * z, p, sl)};
}
template <class B>
Val<B> asin(const Val<B>& x) {
  auto [big, s, lo] = asinCore(x);
  Val<B> t = fma(s, -2, halfPiHi(x)), tl = fma(s, -2, halfPiHi(x) - t);
  Val<B> y = select(big, t + fma(lo, -2, tl + halfPiLo(x)), s + lo);
  return flipSign(y, signBit(x));
}
template <class B>
Val<B> acos(const Val<B>& x) {
  auto [big, s, lo] = asinCore(x);
  // pi/2 - x, 2 asin(s), or pi - 2 asin(s): a multiple of s from a base
  Val<B> neg = x < 0;
  Val<B> m = select(big, select(neg, x.cst(-2), 2), select(neg, x.cst(1), -1));
  Val<B> base = select(big, select(neg, x.cst(2 * halfPiHi(x)), 0), halfPiHi(x));
  Val<B> baseLo = select(big, select(neg, x.cst(2 * halfPiLo(x)), 0), halfPiLo(x));
  Val<B> t = fma(m, s, base), tl = fma(m, s, base - t);
  return t + fma(m, lo, tl + baseLo);
}

/// (atan(t) / t - 1) / t^2 with z = t^2: |t| <= 1 in float32, tan(pi/8) in float64.
template <class B>
Val<B> atanTail(const Val<B>& z) {
  return horner(z,
                {-0x1.d5a1aap-10, 0x1.6551e2p-7, -0x1.fe7d24p-6, 0x1.da9c2ep-5, -0x1.5825f2p-4, 0x1.c0946cp-4,
                 -0x1.24211ap-3, 0x1.9991ecp-3, -0x1.55553ep-2},
                {0x1.0ab99284dddc5p-6, -0x1.1b2c1d1e6606ep-5, 0x1.74dc9af0a4a36p-5, -0x1.ac7abac101128p-5,
                 0x1.e19a295738502p-5, -0x1.110e89c5f3d01p-4, 0x1.3b1392ff4e812p-4, -0x1.745d165fbeaebp-4,
                 0x1.c71c71c310dc0p-4, -0x1.249249248d934p-3, 0x1.9999999999955p-3, -0x1.5555555555555p-2});
}
/// (base + baseLo) + (t + lo), base zero or larger than t.
template <class B>
Val<B> addToBase(const Val<B>& base, const Val<B>& baseLo, const Val<B>& t, const Val<B>& lo) {
  auto [s, d] = fastTwoSum(base, t);
  return s + (d + (lo + baseLo));
}

/// The reduced quotient of float64: atan(n / d) = eighths pi/4 + atan(t + e), by the tangent's addition formula.
/// Zero, one (`one`) or two (`one` and `two`) eighths of a turn are taken off.
template <class B>
struct AtanArg {
  Val<B> t, e, one, two;
};
template <class B>
AtanArg<B> reduceAtan64(const Val<B>& n, const Val<B>& d) {
  Val<B> one = n > d * 0x1.a827999fcef32p-2, two = n > d * 0x1.3504f333f9de6p+1;
  auto [diff, diffLo] = twoSum(n, -d);
  auto [sum, sumLo] = twoSum(n, d);
  Val<B> u = select(two, -d, select(one, diff, n)), v = select(two, n, select(one, sum, d));
  Val<B> mid = one & !two, ul = select(mid, diffLo, 0), vl = select(mid, sumLo, 0);
  Val<B> c = 1 / v, t = u / v, e = fma(-t, v, u);
  e = fma(-t, vl, e + ul) * c;
  return {t, e, one, two};
}

template <class B>
Val<B> atan(const Val<B>& x) {
  Val<B> a = atMost(abs(x), 0x1p60);
  if (!x.wide()) {
    Val<B> big = a > 1, v = -1 / a, ve = fma(v, a, 1) * v, t = select(big, v, a), z = t * t;
    Val<B> lo = fma(t * z, atanTail(z), select(big, ve, 0));
    Val<B> base = select(big, x.cst(halfPiHi(x)), 0), baseLo = select(big, x.cst(halfPiLo(x)), 0);
    return flipSign(addToBase(base, baseLo, t, lo), signBit(x));
  }
  auto [t, e, one, two] = reduceAtan64(a, x.cst(1));
  Val<B> z = t * t, lo = fma(t * z, atanTail(z), e);
  const double hi = halfPiHi(x), low = halfPiLo(x);
  Val<B> base = select(two, hi, select(one, x.cst(hi / 2), 0));
  Val<B> baseLo = select(two, low, select(one, x.cst(low / 2), 0));
  return flipSign(addToBase(base, baseLo, t, lo), signBit(x));
}

template <class B>
Val<B> atan2of32(const Val<B>& y, const Val<B>& x) {
  Val<B> ax = abs(x), ay = abs(y), swap = ay > ax, n = select(swap, ax, ay), d = select(swap, ay, ax);
  Val<B> same = eq(n, d), zeros = same & eq(d, 0), infs = same & eq(d, kInf);
  Val<B> c = select(d < 0x1p-60, x.cst(0x1p64), 1);
  n = n * c;
  d = d * c;
  Val<B> t = n / d, e = fma(-t, d, n) / d;
  e = select((t < 0x1p-40) | infs, 0, e);
  t = select(zeros, 0, select(infs, 1, t));
  e = select(zeros, 0, e);
  Val<B> z = t * t, lo = fma(t * z, atanTail(z), e), left = bits(x) < bits(x).cst(0);
  Val<B> base = select(swap, x.cst(halfPiHi(x)), select(left, x.cst(2 * halfPiHi(x)), 0));
  Val<B> baseLo = select(swap, x.cst(halfPiLo(x)), select(left, x.cst(2 * halfPiLo(x)), 0));
  Val<B> back = swap ^ left;
  t = select(back, -t, t);
  lo = select(back, -lo, lo);
  return flipSign(addToBase(base, baseLo, t, lo), signBit(y));
}
template <class B>
Val<B> atan2of64(const Val<B>& y, const Val<B>& x) {
  Val<B> n = abs(y), d = abs(x), same = eq(n, d), zeros = same & eq(d, 0), infs = same & eq(d, kInf);
  // Both zero or both infinite count as 0/1 and 1/1. Otherwise both are scaled to where no step leaves the range.
  n = select(zeros, 0, select(infs, 1, n));
  d = select(zeros | infs, 1, d);
  Val<B> top = select(n > d, n, d), c = select(top < 0x1p-500, x.cst(0x1p600), 1);
  c = select(top > 0x1p1000, 0x1p-4, c);
  auto [t, e, one, two] = reduceAtan64(n * c, d * c);
  // Tiny quotients have no residual worth adding, infinite operands none at all.
  e = select(abs(t) >= 0x1p-100, e, 0);
  Val<B> z = t * t, lo = fma(t * z, atanTail(z), e), left = bits(x) < bits(x).cst(0);
  const double hi = halfPiHi(x), low = halfPiLo(x);
  Val<B> base =
      select(two, hi, select(one, select(left, x.cst(0x1.2d97c7f3321d2p1), hi / 2), select(left, x.cst(2 * hi), 0)));
  Val<B> baseLo = select(
      two, low, select(one, select(left, x.cst(0x1.a79394c9e8a0ap-54), low / 2), select(left, x.cst(2 * low), 0)));
  t = select(left, -t, t);
  lo = select(left, -lo, lo);
  return flipSign(addToBase(base, baseLo, t, lo), signBit(y));
}
template <class B>
Val<B> atan2(const Val<B>& y, const Val<B>& x) {
  return x.wide() ? atan2of64(y, x) : atan2of32(y, x);
}

}  // namespace detail

template <class B>
typename B::V asin(B& b, typename B::V x) {
  return detail::asin(detail::Val(b, x)).v;
}
template <class B>
typename B::V acos(B& b, typename B::V x) {
  return detail::acos(detail::Val(b, x)).v;
}
template <class B>
typename B::V atan(B& b, typename B::V x) {
  return detail::atan(detail::Val(b, x)).v;
}
/// The angle of the point (x, y).
template <class B>
typename B::V atan2(B& b, typename B::V y, typename B::V x) {
  return detail::atan2(detail::Val(b, y), detail::Val(b, x)).v;
}

}  // namespace tandem::math
