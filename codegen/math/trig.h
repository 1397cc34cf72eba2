// sin, cos, tan, sinc. |x| = q pi/2 + (r + rl) with |r| <= pi/4, by three-part subtraction for moderate arguments and
// by products with the bits of 1/(2 pi) for huge ones; the latter only where a lane needs it.
#pragma once

#include "codegen/math/common.h"

namespace tandem::math {
namespace detail {

/// r + rl in [-pi/4, pi/4] and the quadrant, whose lowest two bits count.
template <class B>
struct TrigArg {
  Val<B> r, rl, q;
};

/// Good for a <= 2^17 (2^30); beside multiples of pi/2 rl may exceed an ULP of r.
template <class B>
TrigArg<B> reduceTrigSum(const Val<B>& a) {
  const double p1 = halfPiHi(a), p2 = halfPiLo(a), p3 = halfPiTail(a);
  auto [k, q] = roundProduct(a, pick(a, 0x1.45f306p-1, 0x1.45f306dc9c883p-1));
  Val<B> head = fma(k, -p1, a), p = k * -p2, pl = fma(k, -p2, -p);
  auto [h, e] = twoSum(head, p);
  return {h, fma(k, -p3, e + pl), q};
}
template <class B>
TrigArg<B> reduceTrigSmall(const Val<B>& a) {
  auto [h, e, q] = reduceTrigSum(a);
  auto [r, rl] = fastTwoSum(h, e);
  return {r, rl, q};
}

/// Any finite float32, in float64: the fraction of x / (2 pi), in chunks of 1/(2 pi) short enough for exact products.
template <class B>
TrigArg<B> reduceTrigHuge32(const Val<B>& a) {
  Val<B> x = a.cast(DType::Float64), s = x * 0x1.45f306p-3;
  s = s - roundeven(s);
  Val<B> lo = x.cst(0);
  for (double c :
       {0x1.b939105p-28, 0x1.29fc274p-58, 0x1.7d1f534p-86, 0x1.bb81b6cp-115, 0x1.4acc9e2p-145, 0x1.c820ffp-177}) {
    Val<B> p = x * c;
    p = p - roundeven(p);
    Val<B> u = s + p;
    lo = lo + ((s - u) + p);
    s = u - roundeven(u);
  }
  s = s * 4;
  Val<B> t = s + 0x1.8p52, k = t - 0x1.8p52, q = (bits(t) & x.word(0xff)).cast(DType::Int32);
  Val<B> rr = fma(lo, 4, s - k) * 0x1.921fb54442d18p0, r = rr.cast(DType::Float32);
  return {r, (rr - r.cast(DType::Float64)).cast(DType::Float32), q};
}

/// Any finite float64: the same with 53-bit pieces of 2^200/(2 pi) and two-term sums.
template <class B>
TrigArg<B> reduceTrigHuge64(const Val<B>& a) {
  static constexpr double pieces[] = {
      0x1.45f306dc9c880p+197, 0x1.529fc2757d1f4p+146, 0x1.34ddc0db62958p+94,  0x1.93c439041fe51p+42,
      0x1.8eaf7aef1586cp-12,  0x1.c91b8e909374bp-64,  0x1.00324977504e8p-117, 0x1.921cfe1deb1cbp-170,
      0x1.29a73ee882358p-226, 0x1.d4baed1213a67p-276, 0x1.c09ad17df9048p-332, 0x1.991d639835339p-382,
      0x1.e93908bf177bfp-435, 0x1.283b1ff897ffcp-490, 0x1.e05980fef2f10p-542, 0x1.8b5a0a6d1f6d3p-594,
      0x1.9fb3c9f2c26dcp-648, 0x1.3d18fd9a797fap-700, 0x1.16ba93dd63f5fp-753, 0x1.7c5ecf41ce7dcp-808,
      0x1.14a525d4d7f6bp-859, 0x1.ec47e35742158p-912, 0x1.98237e3db5d50p-969, 0x1.f0cfbc209af43p-1018};
  Val<B> x = a * 0x1p-200, sh = a.cst(0), sl = a.cst(0);
  for (double c : pieces) {
    Val<B> p = x * c, l = fma(x, c, -p);
    p = p - roundeven(p);
    l = l - roundeven(l);
    auto [t, e] = twoSum(sh, p);
    auto [u, e2] = twoSum(t, l);
    sl = (sl + e) + e2;
    sh = u - roundeven(u);
  }
  auto [h, hl] = fastTwoSum(sh, sl);
  sh = h * 4;
  sl = hl * 4;
  Val<B> t = sh + 0x1.8p52, k = t - 0x1.8p52, q = bits(t) - bitsOf(a, 0x1.8p52);
  auto [s, l] = fastTwoSum(sh - k, sl);
  Val<B> r = s * halfPiHi(a), m = fma(s, halfPiHi(a), -r);
  return {r, fma(l, halfPiHi(a), fma(s, halfPiLo(a), m)), q};
}

/// The same for float32, r only, to half an ULP: a - k p1 is exact, being a multiple of 2^-24 below 1.
template <class B>
TrigArg<B> reduceTrigShort(const Val<B>& a) {
  auto [k, q] = roundProduct(a, 0x1.45f306p-1);
  Val<B> r = fma(k, -halfPiTail(a), fma(k, -halfPiLo(a), fma(k, -halfPiHi(a), a)));
  return {r, r.cst(0), q};
}

/// The same of any a >= 0, where that is `moderate`; infinities and NaN give NaN.
template <class B>
TrigArg<B> orHuge(const Val<B>& a, const TrigArg<B>& moderate) {
  auto [r, rl, q] = moderate;
  Val<B> big = a > pick(a, 0x1p17, 0x1p30);
  auto huge = a.b->ifAny(
      big.v,
      [&] {
        TrigArg<B> h = a.wide() ? reduceTrigHuge64(a) : reduceTrigHuge32(a);
        return std::array{h.r.v, h.rl.v, h.q.v};
      },
      std::array{r.v, rl.v, q.v});
  return {select(big, r.with(huge[0]), r), select(big, r.with(huge[1]), rl), select(big, r.with(huge[2]), q)};
}

/// `rl` is 0 where `precise` is not asked for in float32.
template <class B>
TrigArg<B> reduceTrig(const Val<B>& a, bool precise) {
  return orHuge(a, precise || a.wide() ? reduceTrigSmall(a) : reduceTrigShort(a));
}

/// sin(r + rl) - r; with r for rl, sin(r).
template <class B>
Val<B> sinTail(const Val<B>& r, const Val<B>& rl, const Val<B>& z) {
  Val<B> p = horner(z, {0x1.77dffap-19, -0x1.a04862p-13, 0x1.111164p-7, -0x1.555556p-3},
                    {-0x1.a55d96db32ae8p-41, 0x1.6114a777b42fbp-33, -0x1.ae643d45c1e5cp-26, 0x1.71de3a401a72fp-19,
                     -0x1.a01a01a006d9p-13, 0x1.111111111108bp-7, -0x1.5555555555555p-3});
  return fma(p, r * z, rl);
}
/// (cos(r) - 1 + z / 2) / z^2 for z = r^2.
template <class B>
Val<B> cosTail(const Val<B>& z) {
  return horner(z, {0x1.99e904p-16, -0x1.6c0c2ap-10, 0x1.55554ap-5},
                {-0x1.8fa6917123386p-37, 0x1.1ee9dbec7010ap-29, -0x1.27e4f7f1c1054p-22, 0x1.a01a019c8f66bp-16,
                 -0x1.6c16c16c15017p-10, 0x1.555555555554bp-5});
}
/// cos(r + rl) = hi + lo.
template <class B>
Pair<B> cosPair(const Val<B>& r, const Val<B>& rl, const Val<B>& z) {
  Val<B> h = r * 0.5, w = fma(-h, r, 1), lo = fma(-h, r, 1 - w);
  lo = fma(-r, rl, lo);
  return {w, fma(z * z, cosTail(z), lo)};
}

template <class B>
Val<B> isOdd(const Val<B>& q) {
  return ne(q & q.cst(1), 0);
}
/// The sine of quadrant q's argument, the sign of the half-turn included. In float32 `rl` is not needed.
template <class B>
Val<B> sinOfQuadrant(const TrigArg<B>& arg) {
  const auto& [r, rl, q] = arg;
  Val<B> z = r * r, c = z, s = z;
  if (r.wide()) {
    auto [w, lo] = cosPair(r, rl, z);
    c = w + lo;
    s = r + sinTail(r, rl, z);
  } else {
    c = fma(z, fma(z, cosTail(z), -0.5), 1);
    s = sinTail(r, r, z);
  }
  Val<B> y = select(isOdd(q), c, s);
  return flipSign(y, (q & q.cst(2)) << (q.wide() ? 62 : 30));
}
template <class B>
Val<B> sin(const Val<B>& x) {
  return flipSign(sinOfQuadrant(reduceTrig(abs(x), false)), signBit(x));
}
template <class B>
Val<B> cos(const Val<B>& x) {
  auto [r, rl, q] = reduceTrig(abs(x), false);
  return sinOfQuadrant(TrigArg<B>{r, rl, q + q.cst(1)});
}
/// cos of 0 <= x <= 2^17, for arguments known to be moderate.
template <class B>
Val<B> cosSmall(const Val<B>& x) {
  auto [r, rl, q] = x.wide() ? reduceTrigSmall(x) : reduceTrigShort(x);
  return sinOfQuadrant(TrigArg<B>{r, rl, q + q.cst(1)});
}

/// tan in float32, of which that of r + rl is r + tail, and that of -1 / tan in odd quadrants. What rl counts for, its
/// product with 1 + tan^2, is 1 + 1.6 z times it.
template <class B>
Val<B> tan32(const Val<B>& x) {
  Val<B> a = abs(x);
  auto [r, rl, q] = orHuge(a, reduceTrigSum(a));
  Val<B> z = r * r, p = horner(z, {0x1.1ed03ap-8, 0x1.7e9c1ep-14, 0x1.62f56cp-7, 0x1.5cb9b6p-6, 0x1.bada5p-5,
                                   0x1.110d9cp-3, 0x1.55556p-2});
  auto [t, tl] = fastTwoSum(r, fma(z, fma(rl, 1.6, r * p), rl));
  Val<B> c = 1 / t, y = select(isOdd(q), fma(fma(-c, tl, fma(-c, t, 1)), c, c), t);
  return flipSign(y, ((q & q.cst(1)) << 31) ^ signBit(x));
}
template <class B>
Val<B> tan(const Val<B>& x) {
  if (!x.wide()) return tan32(x);
  auto [r, rl, q] = reduceTrig(abs(x), true);
  Val<B> z = r * r;
  auto [sh, sl] = fastTwoSum(r, sinTail(r, rl, z));
  auto [w0, l0] = cosPair(r, rl, z);
  auto [w, l] = fastTwoSum(w0, l0);
  Val<B> odd = isOdd(q);
  Val<B> y = quotient(select(odd, w, sh), select(odd, l, sl), select(odd, sh, w), select(odd, sl, l));
  return select(eq(x, 0), x, flipSign(y, ((q & q.cst(1)) << 63) ^ signBit(x)));
}

/// sin(pi x) / (pi x), 1 at 0. In float32 the sine is divided as a sum of two: its own rounding would be one too many.
template <class B>
Val<B> sinc(const Val<B>& x) {
  Val<B> a = abs(x) * pick(x, 0x1.921fb6p1, 0x1.921fb54442d18p1);
  if (x.wide()) return select(eq(x, 0), 1, sin(a) / a);
  auto [r, rl, q] = reduceTrig(a, false);
  Val<B> z = r * r, odd = isOdd(q), n = select(odd, 1, r), v = n / a;
  Val<B> rest = fma(-v, a, n) + select(odd, z * fma(z, cosTail(z), -0.5), sinTail(r, rl, z));
  return select(abs(x) < 0x1p-14, 1, flipSign(v + rest / a, (q & q.cst(2)) << 30));
}

}  // namespace detail

template <class B>
typename B::V sin(B& b, typename B::V x) {
  return detail::sin(detail::Val(b, x)).v;
}
template <class B>
typename B::V cos(B& b, typename B::V x) {
  return detail::cos(detail::Val(b, x)).v;
}
template <class B>
typename B::V tan(B& b, typename B::V x) {
  return detail::tan(detail::Val(b, x)).v;
}
template <class B>
typename B::V sinc(B& b, typename B::V x) {
  return detail::sinc(detail::Val(b, x)).v;
}

}  // namespace tandem::math
