// sinh, cosh, tanh and their inverses.
#pragma once

#include "codegen/math/exp.h"
#include "codegen/math/log.h"

namespace tandem::math {
namespace detail {

/// sinh and cosh of a = k ln 2 + r, a >= 0, from sinh r = r + sh and cosh r = 1 + ch: with sp = (2^k + 2^-k) / 4 and
/// sm = (2^k - 2^-k) / 4, sinh a = 2 (sp sinh r + sm cosh r), cosh a = 2 (sm sinh r + sp cosh r).
template <class B>
struct HyperbolicArg {
  Val<B> r, sh, ch, sp, sm, spl;
};
template <class B>
HyperbolicArg<B> reduceHyperbolic(const Val<B>& a) {
  auto [r, rl, ki] = reduceExpPair(a);
  Val<B> z = r * r;
  Val<B> sh = fma(r * z,
                  horner(z, {0x1.a28f26p-13, 0x1.110fe2p-7, 0x1.555556p-3},
                         {0x1.61c0441ce693cp-33, 0x1.ae642c2f709eep-26, 0x1.71de3a5ab75e0p-19, 0x1.a01a01a019687p-13,
                          0x1.1111111111111p-7, 0x1.5555555555555p-3}),
                  rl);
  Val<B> ch = z * horner(z, {0x1.6d4f1ep-10, 0x1.5554e6p-5, 0.5},
                         {0x1.1f7fb7f1496aap-29, 0x1.27e4d3cb18dd8p-22, 0x1.a01a01aa06ea3p-16, 0x1.6c16c16c15a22p-10,
                          0x1.5555555555557p-5, 0.5});
  Val<B> two = ki.cst(2), p = pow2(ki - two), m = select(ki > 60, 0, pow2(-ki - two));
  auto [sp, spl] = fastTwoSum(p, m);
  return {r, sh, ch, sp, p - m, spl};
}
template <class B>
Val<B> sinh(const Val<B>& x) {
  Val<B> a = atMost(abs(x), pick(x, 89.5, 710.6));
  auto [r, sh, ch, sp, sm, spl] = reduceHyperbolic(a);
  Val<B> t = fma(sp, r, sm), e = fma(sm, ch, fma(sp, sh, fma(sp, r, sm - t)));
  Val<B> y = select(a < pick(x, 0x1p-13, 0x1p-28), a, (t + e) * 2);
  return flipSign(y, signBit(x));
}
template <class B>
Val<B> cosh(const Val<B>& x) {
  auto [r, sh, ch, sp, sm, spl] = reduceHyperbolic(atMost(abs(x), pick(x, 89.5, 710.6)));
  Val<B> t = fma(sm, r, sp), e = fma(sp, ch, fma(sm, sh, fma(sm, r, sp - t))) + spl;
  return (t + e) * 2;
}

template <class B>
Val<B> tanh(const Val<B>& x) {
  Val<B> a = abs(x);
  if (!x.wide()) {
    // (1 - e^-2a) / (1 + e^-2a), of which neither has rounded e^-2a; to 1.91 ULP.
    Val<B> c = atMost(a, 10);
    auto [scale, p] = scaledExpNeg(c + c);
    return flipSign(fma(-scale, p, 1 - scale) / fma(scale, p, scale + 1), signBit(x));
  }
  // expm1(2a) / (expm1(2a) + 2)
  Val<B> c = atMost(a, 20);
  auto [t, lo] = halfExpm1(c + c);
  auto [h, l] = fastTwoSum(t, lo);
  h = h + h;
  l = l + l;
  auto [d, dl] = twoSum(h, 2);
  Val<B> y = select(a < 0x1p-28, a, quotient(h, l, d, dl + l));
  return flipSign(y, signBit(x));
}

// The inverses are log(1 + h + l) of a sum known to twice the precision; beyond `far`, log(2a) = log(1 + a) + ln 2.
template <class B>
Val<B> asinh(const Val<B>& x) {
  Val<B> a = abs(x), big = a > pick(x, 0x1p28, 0x1p60), a2 = a * a, t = a2 / (sqrt(a2 + 1) + 1);
  auto [h, l] = fastTwoSum(a, t);
  h = select(big, a, h);
  l = select(big, 0, l);
  Val<B> n = select(big, x.cst(1), 0), y = log1pSum(h, &l, &n);
  y = select(a < pick(x, 0x1p-13, 0x1p-28), a, y);
  y = select(a < kInf, y, a);
  return flipSign(y, signBit(x));
}
template <class B>
Val<B> acosh(const Val<B>& x) {
  // With d = x - 1: x + sqrt(x^2 - 1) = 1 + d + sqrt(d^2 + 2d)
  Val<B> big = x > pick(x, 0x1p28, 0x1p60), d = x - 1, d2 = d + d, q = fma(d, d, d2);
  Val<B> ql = select(d > 2, 0, fma(d, d, d2 - q)), s = sqrt(q), sl = (fma(-s, s, q) + ql) / fma(s, 2, 0x1p-100);
  Val<B> h = d + s, l = ((s - h) + d) + sl;
  h = select(big, d, h);
  l = select(big, 0, l);
  Val<B> n = select(big, x.cst(1), 0), y = log1pSum(h, &l, &n);
  y = select(x < kInf, y, x);
  return select(x < 1, kNaN, y);
}
template <class B>
Val<B> atanh(const Val<B>& x) {
  Val<B> a = abs(x), d = 1 - a, dl = (1 - d) - a, n = a + a, c = 1 / d, u = n * c;
  Val<B> e = fma(-u, dl, fma(-u, d, n)) * c, y = log1pSum(u, &e) * 0.5;
  y = select(a < pick(x, 0x1p-13, 0x1p-28), a, y);
  y = select(eq(a, 1), kInf, y);
  return flipSign(select(a <= 1, y, kNaN), signBit(x));
}

}  // namespace detail

template <class B>
typename B::V sinh(B& b, typename B::V x) {
  return detail::sinh(detail::Val(b, x)).v;
}
template <class B>
typename B::V cosh(B& b, typename B::V x) {
  return detail::cosh(detail::Val(b, x)).v;
}
template <class B>
typename B::V tanh(B& b, typename B::V x) {
  return detail::tanh(detail::Val(b, x)).v;
}
template <class B>
typename B::V asinh(B& b, typename B::V x) {
  return detail::asinh(detail::Val(b, x)).v;
}
template <class B>
typename B::V acosh(B& b, typename B::V x) {
  return detail::acosh(detail::Val(b, x)).v;
}
template <class B>
typename B::V atanh(B& b, typename B::V x) {
  return detail::atanh(detail::Val(b, x)).v;
}

}  // namespace tandem::math
