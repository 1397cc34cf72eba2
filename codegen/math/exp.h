// Exponentials: exp, exp2, expm1, and the reduced forms that the hyperbolic, logistic and error functions share.
// Throughout, x = k ln 2 + r with |r| <= ln(2)/2, and e^r = 1 + r + r^2 expTail(r).
#pragma once

#include "codegen/math/common.h"

namespace tandem::math {
namespace detail {

/// (e^r - 1 - r) / r^2 for |r| <= ln(2)/2, to 2^-28 (2^-58).
template <class B>
Val<B> expTail(const Val<B>& r) {
  return horner(r, {0x1.6a604ap-10, 0x1.123ac8p-7, 0x1.5558ap-5, 0x1.55549p-3, 0x1.fffffcp-2},
                {0x1.ad9303fd4d2cap-26, 0x1.28adfefa75cap-22, 0x1.71df18e2549e2p-19, 0x1.a019995cdc7a7p-16,
                 0x1.a01a012ff2944p-13, 0x1.6c16c18477aefp-10, 0x1.1111111126b3p-7, 0x1.55555555506bap-5,
                 0x1.55555555554fep-3, 0x1.000000000000ap-1});
}

template <class B>
struct ExpArg {
  Val<B> r;
  Whole<B> n;
};
template <class B>
ExpArg<B> reduceExp(const Val<B>& x) {
  const Whole<B> n = roundProduct(x, log2e(x));
  return {fma(n.k, -ln2Lo(x), fma(n.k, -ln2Hi(x), x)), n};
}
/// As reduceExp, with the rounding error of r.
template <class B>
struct ExpArgPair {
  Val<B> r, rl, ki;
};
template <class B>
ExpArgPair<B> reduceExpPair(const Val<B>& x) {
  auto [k, ki] = roundProduct(x, log2e(x));
  Val<B> a = fma(k, -ln2Hi(x), x), r = fma(k, -ln2Lo(x), a);
  return {r, fma(k, -ln2Lo(x), a - r), ki};
}

template <class B>
Val<B> exp(Val<B> x) {
  x = clampTo(x, pick(x, -105, -746), pick(x, 89, 710));
  auto [r, n] = reduceExp(x);
  auto [s, lo] = fastTwoSum(1, r);
  return scale2(s + fma(r * r, expTail(r), lo), n);
}

/// e^x where it neither overflows nor underflows; an ULP, no clamp, one scaling.
template <class B>
Val<B> expNormal(const Val<B>& x) {
  auto [r, n] = reduceExp(x);
  return scaled(fma(r * r, expTail(r), r) + 1, n, [](const Val<B>& y, const Val<B>& ki) { return y * pow2(ki); });
}

/// e^x of an x that is not above 0, to an ULP; above 40 it is not meant.
template <class B>
Val<B> expBelow(Val<B> x) {
  auto [r, n] = reduceExp(atLeast(x, pick(x, -105, -746)));
  return scaleDown(fma(r * r, expTail(r), r) + 1, n);
}

template <class B>
Val<B> exp2(Val<B> x) {
  x = clampTo(x, pick(x, -151, -1080), pick(x, 129, 1025));
  const double magic = roundMagic(x);
  const Val<B> t = x + magic;
  const Whole<B> n{t - magic, bits(t) - bitsOf(x, magic)};
  const Val<B> r = x - n.k;
  if (!x.wide()) {
    Val<B> q = horner(r, {0x1.3fa206p-13, 0x1.5f0b82p-10, 0x1.3b30ap-7, 0x1.c6af76p-5, 0x1.ebfbd8p-3, 0x1.62e43p-1});
    return scale2(fma(q, r, 1), n);
  }
  // 2^r = e^(a + al), a + al = r ln 2
  Val<B> a = r * ln2Hi(x), al = fma(r, ln2Lo(x), fma(r, ln2Hi(x), -a));
  auto [s, lo] = fastTwoSum(1, a);
  return scale2(s + fma(a * a, expTail(a), fma(al, s, lo)), n);
}

/// (e^x - 1) / 2 as a sum of two values. The half keeps 2^k in range up to the last finite result.
template <class B>
Pair<B> halfExpm1(const Val<B>& x) {
  auto [r, rl, ki] = reduceExpPair(x);
  Val<B> q = fma(r * r, expTail(r), rl), s = pow2(ki - ki.cst(1)), m = s - 0.5;
  Val<B> t = fma(s, r, m), e = fma(s, r, m - t);
  return {t, fma(s, q, e)};
}
template <class B>
Val<B> expm1(const Val<B>& x) {
  auto [t, lo] = halfExpm1(clampTo(x, pick(x, -20, -40), pick(x, 89, 710)));
  Val<B> y = t + lo;
  return select(abs(x) < pick(x, 0x1p-25, 0x1p-54), x, y + y);
}

/// e^-a for a >= 0: exactly-scaled (e0 + el) 2^ki, and e + es, which is only meant to be added to values near 1
/// (its scale stops at 2^-60).
template <class B>
struct ExpNeg {
  Val<B> e0, el, e, es, ki;
};
template <class B>
ExpNeg<B> expNeg(const Val<B>& a) {
  Val<B> x = -atMost(a, pick(a, 110, 760));
  const auto [r, n] = reduceExp(x);
  const Val<B> ki = n.ki;
  Val<B> p = fma(r * r, expTail(r), r);
  auto [e0, el] = fastTwoSum(1, p);
  Val<B> floorK = ki.cst(-60), scale = pow2(select(ki < floorK, floorK, ki));
  return {e0, el, e0 * scale, el * scale, ki};
}

/// e^-x = scale (1 + p), e^-x a normal number.
template <class B>
struct ScaledExp {
  Val<B> scale, p;
};
template <class B>
ScaledExp<B> scaledExpNeg(const Val<B>& x) {
  const double magic = roundMagic(x) + pick(x, 127, 1023);  // the sum's low bits are the exponent field of the scale
  Val<B> t = fma(x, -log2e(x), magic), k = t - magic, scale = flt(bits(t) << mantissaBits(x));
  Val<B> r = fma(k, -ln2Lo(x), fma(k, -ln2Hi(x), -x));
  return {scale, fma(r * r, expTail(r), r)};
}

}  // namespace detail

template <class B>
typename B::V exp(B& b, typename B::V x) {
  return detail::exp(detail::Val(b, x)).v;
}
template <class B>
typename B::V exp_below(B& b, typename B::V x) {
  return detail::expBelow(detail::Val(b, x)).v;
}
template <class B>
typename B::V exp2(B& b, typename B::V x) {
  return detail::exp2(detail::Val(b, x)).v;
}
template <class B>
typename B::V expm1(B& b, typename B::V x) {
  return detail::expm1(detail::Val(b, x)).v;
}

}  // namespace tandem::math
