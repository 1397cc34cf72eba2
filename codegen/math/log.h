// Logarithms: log, log2, log10, log1p. x = 2^e m with m near 1; log(1 + f) = f + logTail(f), f = m - 1.
#pragma once

#include "codegen/math/common.h"

namespace tandem::math {
namespace detail {

/// The exponent e that leaves bits(u) - (e << mantissa) in [2/3, 4/3) for float32, [sqrt(1/2), sqrt(2)) for float64.
template <class B>
Val<B> splitExponent(const Val<B>& u) {
  return exponentField(bits(u) - bitsOf(u, pick(u, 0x1.555556p-1, 0x1.6a09e667f3bcdp-1)));
}

/// x = 2^ef (1 + f); subnormals are scaled up first.
template <class B>
struct LogArg {
  Val<B> f, ef;
};
template <class B>
LogArg<B> splitLogOfNormal(const Val<B>& x) {
  Val<B> e = splitExponent(x);
  return {flt(bits(x) - (e << mantissaBits(x))) - 1, toFloat(e)};
}
template <class B>
LogArg<B> splitLog(const Val<B>& x) {
  const int up = x.wide() ? 54 : 23;
  Val<B> sub = x < pick(x, 0x1p-126, 0x1p-1022);
  auto [f, ef] = splitLogOfNormal(select(sub, x * pick(x, 0x1p23, 0x1p54), x));
  return {f, ef - select(sub, x.cst(up), 0)};
}

/// (log(1 + f) - f) + lo.
template <class B>
Val<B> addLogTail(const Val<B>& f, const Val<B>& lo) {
  if (!f.wide()) {
    Val<B> q = horner(f, {-0x1.080cf8p-3, 0x1.1e753cp-3, -0x1.f30e26p-4, 0x1.1ed3e8p-3, -0x1.559de4p-3, 0x1.99d06p-3,
                          -0x1.fffefp-3, 0x1.555506p-2, -0.5});
    return fma(f * f, q, lo);
  }
  // s = f / (f + 2): log(1 + f) = 2 atanh(s) = f - s (f - ...), arranged so that -f^2/2 is exact
  Val<B> s = f / (f + 2), z = s * s, h = f * 0.5, hf = h * f, hl = fma(h, f, -hf);
  Val<B> r = z * horner(z, {0x1.2f036e00c94cap-3, 0x1.39a1f25e27bf4p-3, 0x1.74663c7d6d9dp-3, 0x1.c71c5216a7ebfp-3,
                            0x1.24924941de7bap-2, 0x1.999999997ff41p-2, 0x1.5555555555592p-1});
  return (fma(s, hf + r, -hf) - hl) + lo;
}

/// The results a formula for finite positive x does not give: log(+inf), log(NaN), log(<0), log(0).
template <class B>
Val<B> logSpecials(const Val<B>& x, Val<B> y) {
  y = select(x < kInf, y, x);
  y = select(x < 0, kNaN, y);
  return select(eq(x, 0), -kInf, y);
}

template <class B>
Val<B> logOf(const LogArg<B>& x) {
  auto [f, ef] = x;
  Val<B> s = fma(ef, ln2Hi(f), f), d = fma(ef, ln2Hi(f), -s), lo = fma(ef, ln2Lo(f), d + f);
  return s + addLogTail(f, lo);
}
/// log(x) of positive normal numbers.
template <class B>
Val<B> logOfNormal(const Val<B>& x) {
  return logOf(splitLogOfNormal(x));
}
template <class B>
Val<B> log(const Val<B>& x) {
  return logSpecials(x, logOf(splitLog(x)));
}

template <class B>
Val<B> log2(const Val<B>& x) {
  auto [f, ef] = splitLog(x);
  const double c = log2e(x), cl = pick(x, 0x1.4ae0cp-26, 0x1.777d0ffda0d24p-56);
  Val<B> h = f * c, hl = fma(f, cl, fma(f, c, -h));
  auto [s, lo] = fastTwoSum(ef, h);
  if (!x.wide()) {
    Val<B> q = horner(f, {-0x1.795bbp-3, 0x1.9dde8cp-3, -0x1.68e9d6p-3, 0x1.9daa96p-3, -0x1.ecc50cp-3, 0x1.279f92p-2,
                          -0x1.715404p-2, 0x1.ec7024p-2, -0x1.715476p-1});
    return logSpecials(x, s + (lo + fma(f * f, q, hl)));
  }
  return logSpecials(x, s + (lo + fma(addLogTail(f, f.cst(0)), c, hl)));
}

template <class B>
Val<B> log10(const Val<B>& x) {
  auto [f, ef] = splitLog(x);
  // c = log10(e), t = log10(2)
  const double c = pick(x, 0x1.bcb7b2p-2, 0x1.bcb7b1526e50ep-2), cl = pick(x, -0x1.5b235ep-27, 0x1.95355baaafad3p-57);
  const double t = pick(x, 0x1.344136p-2, 0x1.34413509f79ffp-2), tl = pick(x, -0x1.ec10cp-27, -0x1.9dc1da994fd21p-59);
  Val<B> h = f * c, hl = fma(f, cl, fma(f, c, -h));
  Val<B> s = fma(ef, t, h), d = fma(ef, t, -s), lo = fma(ef, tl, d + h);
  if (!x.wide()) {
    Val<B> q = horner(f, {-0x1.cc6d34p-5, 0x1.f229b6p-5, -0x1.b0f186p-5, 0x1.f22586p-5, -0x1.28c0fp-4, 0x1.63f6e4p-4,
                          -0x1.bcb66ep-4, 0x1.287a2ep-3, -0x1.bcb7b2p-3});
    return logSpecials(x, s + (lo + fma(f * f, q, hl)));
  }
  return logSpecials(x, s + (lo + fma(addLogTail(f, f.cst(0)), c, hl)));
}

/// log(1 + x + xl) + n ln 2; null for zero.
template <class B>
Val<B> log1pSum(const Val<B>& x, const Val<B>* xl = nullptr, const Val<B>* n = nullptr) {
  Val<B> e = splitExponent(x + 1);
  // (1 + x) 2^-e - 1 = x s + (s - 1) with s = 2^-e, in exact steps; the factor 16 keeps s normal for every e
  Val<B> s = flt(bitsOf(x, 16) - (e << mantissaBits(x))), x16 = x * 0.0625;
  Val<B> m = fma(s, 0.0625, -1), f = fma(x16, s, m), g = fma(x16, s, m - f);
  if (xl) g = fma(*xl * 0.0625, s, g);
  g = fma(-g, f, g);
  Val<B> ef = toFloat(e);
  if (n) ef = ef + *n;
  Val<B> z = fma(ef, ln2Hi(x), f), d = fma(ef, ln2Hi(x), -z), lo = fma(ef, ln2Lo(x), d + f) + g;
  return z + addLogTail(f, lo);
}
template <class B>
Val<B> log1p(const Val<B>& x) {
  Val<B> y = log1pSum(x);
  y = select(abs(x) < pick(x, 0x1p-25, 0x1p-54), x, y);
  y = select(x < kInf, y, x);
  y = select(eq(x, -1), -kInf, y);
  return select(x < -1, kNaN, y);
}

}  // namespace detail

template <class B>
typename B::V log(B& b, typename B::V x) {
  return detail::log(detail::Val(b, x)).v;
}
template <class B>
typename B::V log2(B& b, typename B::V x) {
  return detail::log2(detail::Val(b, x)).v;
}
template <class B>
typename B::V log10(B& b, typename B::V x) {
  return detail::log10(detail::Val(b, x)).v;
}
template <class B>
typename B::V log1p(B& b, typename B::V x) {
  return detail::log1p(detail::Val(b, x)).v;
}

}  // namespace tandem::math
