// erf, erfc, the normal distribution, and gelu in its exact form, which share their tails.
#pragma once

#include "codegen/math/exp.h"

namespace tandem::math {
namespace detail {

/// erf(x) / x - 1, z = x^2 <= 1.
template <class B>
Val<B> erfNear(const Val<B>& z) {
  return horner(
      z, {0x1.4917a4p-14, -0x1.a3d812p-11, 0x1.540172p-8, -0x1.b7f88cp-6, 0x1.ce2cf2p-4, -0x1.81273ep-2, 0x1.06eba8p-3},
      {0x1.bcc77b2bdbf0ep-35, -0x1.290ef61c25418p-30, 0x1.f253bbebea069p-27, -0x1.5e94fcddcca24p-23,
       0x1.b9cd7999a3db4p-20, -0x1.f4d05fc8aa729p-17, 0x1.f9a30b576ce13p-14, -0x1.c02db2f9c2c09p-11,
       0x1.565bcd07fa606p-8, -0x1.b82ce3125647ap-6, 0x1.ce2f21a041df3p-4, -0x1.812746b0379cap-2, 0x1.06eba8214db68p-3});
}

/// erfc(b) for b in [1, 6] in float64, where it is to be subtracted from 1.
template <class B>
Val<B> erfcFar64(const Val<B>& b) {
  Val<B> u = 1 / (b + 3), t = u - 0.21875;
  Val<B> g = horner(t, {-0x1.032a261b24e2bp19, -0x1.9699abb632c04p17, 0x1.e84d6b6c0883ap15, 0x1.514277ceb9a26p14,
                        -0x1.f87dd07100dc9p13, -0x1.8b2e23f09b46ap11, 0x1.d9553440e318dp11, 0x1.9c612a6ccb2afp9,
                        -0x1.bb03bbac1e9e8p9, -0x1.8b89302123182p8, 0x1.14b216eb208e9p7, 0x1.94d428d0a0ec7p7,
                        0x1.a265b10724ec5p6, 0x1.143b775e071dp5, 0x1.04f11a4805c54p3, 0x1.6b1c3db58e154p0});
  Val<B> h = b * b, l = fma(b, b, -h), x = -h;
  auto [k, ki] = roundProduct(x, log2e(x));
  Val<B> r = fma(k, -ln2Lo(x), fma(k, -ln2Hi(x), x)) - l, q = fma(r * r, expTail(r), r);
  return ((q + 1) * pow2(ki)) * (u * g);
}
template <class B>
Val<B> erf(const Val<B>& x) {
  Val<B> a = abs(x), near = fma(a, erfNear(a * a), a), c = atMost(a, pick(x, 3.95f, 6));
  Val<B> far = c;
  if (x.wide()) {
    far = 1 - erfcFar64(c);
  } else {
    // log(erfc) on [0.96, 3.95]
    Val<B> g = horner(c, {0x1.8f29cap-13, -0x1.879f62p-9, 0x1.6884dep-6, -0x1.a7cbap-4, -0x1.468302p-1, -0x1.209a46p0,
                          -0x1.1fb142p-12});
    far = 1 - expNormal(g);
  }
  return flipSign(select(a < 1, near, far), signBit(x));
}

/// m e^-(h + l) erfcx(a + al) in float64, to a relative ULP or two however small, for 0.45 <= a <= 27.4.
/// erfcx(a) (a + 4) is a polynomial in u = 1/(a + 4).
template <class B>
Val<B> scaledErfc64(const Val<B>& a, const Val<B>* al, const Val<B>& h, const Val<B>& l, const Val<B>* m) {
  auto [d, dl] = twoSum(a, 4);
  if (al) dl = dl + *al;
  Val<B> u = 1 / d, e = fma(-u, dl, fma(-u, d, 1)), t = u - 0x1p-3;
  Val<B> p = horner(t, {-0x1.96fcef30bd9e9p+33, -0x1.6e6c33e4c1bc6p+27, 0x1.fd81d4f1caae7p+30,  0x1.4707a4076996fp+27,
                        -0x1.c3ccdd9f08f00p+27, -0x1.7e6a6a9d58441p+25, 0x1.3ae042caaae23p+24,  0x1.3c6f94a193a60p+23,
                        -0x1.e7cc98fc234cbp+17, -0x1.72cdadb430643p+20, -0x1.dd28519c6ee1ep+18, 0x1.269b5289e336cp+15,
                        0x1.908f473ea744bp+16,  0x1.b00c052c1bdaap+15,  0x1.38dbd2c8c1f50p+14,  0x1.645fd8a4bc1d1p+12,
                        0x1.52cac23710650p+10,  0x1.14eacb1ad033fp+8,   0x1.8be202d26c6fcp+5,   0x1.f3fe31ecb49bfp+2});
  const double c0 = 0x1.18932bf08e154p+0, c0l = 0x1.1500bc1b81df6p-54;
  Val<B> w = fma(p, t, c0), wl = fma(p, t, c0 - w) + c0l;
  auto [r, rl, ki] = reduceExpPair(-h);
  Val<B> g = fma(r * r, expTail(r), r);
  auto [ex, exl] = fastTwoSum(1, g);
  exl = fma(ex, rl - l, exl);
  Val<B> f = u * w, fl = fma(u, wl, fma(u, w, -f));
  // What u's own rounding error does to the product: its logarithmic derivative, to a few percent.
  fl = fma(f * e, fma(fma(u, 58.5, -1.1875), u, 1.125), fl);
  Val<B> y = ex * f, yl = fma(exl, f, fma(ex, fl, fma(ex, f, -y)));
  if (!m) return scale2(y + yl, ki);
  Val<B> v = y * *m, vl = fma(yl, *m, fma(y, *m, -v));
  return scale2(v + vl, ki);
}
/// erfc(a) in float32, for 0 <= a <= 10.2: e^(-a^2) times a polynomial w in u = 1/(a + 5/2), times u. The errors of w,
/// of both products and, by the logarithmic derivative of u w, of u are carried along.
template <class B>
Val<B> erfc32(const Val<B>& a) {
  Val<B> d = a + 2.5, u = 1 / d, e = fma(-u, a - (d - 2.5), fma(-u, d, 1)), t = u - 0x1.675afap-3;
  Val<B> p = horner(t, {-0x1.157692p+8, 0x1.32e338p+8, -0x1.a56a0ap+3, -0x1.36811cp+6, -0x1.dede6cp+3, 0x1.442e2p+4,
                        0x1.38812p+4, 0x1.3adf84p+3, 0x1.c0839ep+1});
  const double c0 = 0x1.ec7754p-1;
  Val<B> w = fma(p, t, c0), wl = fma(p, t, c0 - w), f = u * w, fl = fma(u, wl, fma(u, w, -f));
  fl = fma(f * e, fma(u, 5.08, 0.785), fl);
  Val<B> h = a * a;
  auto [r, n] = reduceExp(-h);
  r = r - fma(a, a, -h);
  Val<B> g = fma(r * r, expTail(r), r);
  return scaleDown(f + fma(f, g, fma(fl, g, fl)), n);
}
template <class B>
Val<B> erfc(const Val<B>& x) {
  Val<B> a = atMost(abs(x), pick(x, 10.2f, 27.4));
  if (!x.wide()) {
    Val<B> y = erfc32(a);
    return select(x < 0, 2 - y, y);
  }
  Val<B> h = a * a, y = scaledErfc64<B>(a, nullptr, h, fma(a, a, -h), nullptr);
  return select(a < 0.46875, 1 - fma(erfNear(h), x, x), select(x < 0, 2 - y, y));
}

/// Of Phi(-a), the tail of the normal distribution, for 0 <= a <= 15 in float32: e^(-a^2/2) is 2^k (1 + g), and the
/// tail a polynomial w in a / (a + 5/2), times `inverse` = 1 / (a + 5/2), times the exponential. What the square loses
/// is carried along.
template <class B>
struct NormalTail {
  Val<B> inverse, ratio, w, g;
  Whole<B> n;
};
template <class B>
NormalTail<B> normalTail32(const Val<B>& a) {
  Val<B> u = inverse(a + 2.5), v = u * a, t = v - 0x1.99999ap-2;
  const double c0 = 0x1.98ded6p-1;
  Val<B> p = horner(t, {-0x1.4b7ee8p-4, -0x1.b8dd16p-8, 0x1.f54672p-4, 0x1.5a2b94p-4, -0x1.02a6a6p-3, -0x1.ba0b4ap-3,
                        0x1.5db1bep-3, 0x1.f6903ap-2, -0x1.f08224p-1});
  Val<B> h = a * a, l = fma(a, a, -h), x = h * -0.5;
  const Whole<B> n = roundProduct(x, log2e(x));
  Val<B> r = fma(l, -0.5, fma(n.k, -ln2Lo(x), fma(n.k, -ln2Hi(x), x)));
  return {u, v, fma(p, t, c0), fma(r * r, expTail(r), r), n};
}
/// The tail times a factor, 1 or a, to 4 ULP: `part` is the inverse or the ratio.
template <class B>
Val<B> tailTimes(const NormalTail<B>& tail, const Val<B>& part) {
  Val<B> s = part * tail.w, sl = fma(part, tail.w, -s);
  return scaleDown(s + fma(s, tail.g, sl), tail.n);
}

/// That of a half type, to 2^-16 of float16, to 2^-13 of bfloat16, which they round away, without what products lose.
template <class B>
NormalTail<B> normalTailHalf(const Val<B>& a, DType dtype) {
  const bool coarse = dtype == DType::BFloat16;
  Val<B> u = inverse(a + 2.5), v = u * a, t = v - 0x1.99999ap-2;
  Val<B> w = coarse ? horner(t, {-0x1.a9752p-3, 0x1.308468p-3, 0x1.f71ecep-2, -0x1.f0135cp-1, 0x1.98dc38p-1})
                    : horner(t, {0x1.ad4d4cp-4, -0x1.8aef04p-4, -0x1.c44df4p-3, 0x1.590636p-3, 0x1.f6dcf6p-2,
                                 -0x1.f07c6p-1, 0x1.98de84p-1});
  Val<B> h = a * a * -0.5;
  const Whole<B> n = roundProduct(h, log2e(h));
  Val<B> r = fma(n.k, -0x1.62e43p-1, h);
  Val<B> q =
      coarse ? horner(r, {0x1.576dcap-3, 0x1.02271ep-1}) : horner(r, {0x1.5775aap-5, 0x1.5727b6p-3, 0x1.fffd24p-2});
  return {u, v, w, fma(r * r, q, r), n};
}
/// x Phi(x) of a half type.
template <class B>
Val<B> geluHalf(const Val<B>& x, DType dtype) {
  const NormalTail<B> tail = normalTailHalf(atMost(abs(x), 14.4f), dtype);
  Val<B> s = tail.ratio * tail.w;
  return select(x >= 0, x, -0.0) - scaleDown(fma(s, tail.g, s), tail.n);
}

/// x Phi(x) = x/2 erfc(-x / sqrt(2)). gelu(-inf) is -0, its limit.
template <class B>
Val<B> gelu(const Val<B>& x) {
  if (!x.wide()) {
    const NormalTail<B> tail = normalTail32(atMost(abs(x), 14.4f));
    return select(x >= 0, x, -0.0) - tailTimes(tail, tail.ratio);
  }
  const double s = pick(x, 0x1.6a09e6p-1, 0x1.6a09e667f3bcdp-1), sl = pick(x, 0x1.9fcef4p-27, -0x1.bdd3413b26456p-55);
  Val<B> a = atMost(abs(x), pick(x, 14.4f, 38.7)), hh = a * a, l = fma(a, a, -hh) * 0.5;
  Val<B> c = a * s, cl = fma(a, sl, fma(a, s, -c)), half = a * 0.5;
  Val<B> y = scaledErfc64(c, &cl, hh * 0.5, l, &half);
  Val<B> hx = x * 0.5, cx = x * s, er = fma(cx, erfNear(cx * cx), cx), near = fma(hx, er, hx);
  Val<B> z = select(a < 0.65625, near, select(x > 0, x - y, -y));
  return select(eq(x, x), flt(bits(abs(z)) | signBit(x)), x);
}

/// Phi(x) = erfc(-x / sqrt(2)) / 2, the standard normal distribution.
template <class B>
Val<B> normalCdf(const Val<B>& x) {
  if (!x.wide()) {
    const NormalTail<B> tail = normalTail32(atMost(abs(x), 14.4f));
    Val<B> y = tailTimes(tail, tail.inverse);
    return select(x >= 0, 1 - y, y);
  }
  const double s = 0x1.6a09e667f3bcdp-1, sl = -0x1.bdd3413b26456p-55;
  Val<B> a = atMost(abs(x), 38.7), hh = a * a, l = fma(a, a, -hh) * 0.5;
  Val<B> c = a * s, cl = fma(a, sl, fma(a, s, -c)), half = x.cst(0.5);
  Val<B> y = scaledErfc64(c, &cl, hh * 0.5, l, &half);
  Val<B> cx = x * s, near = fma(fma(cx, erfNear(cx * cx), cx), 0.5, 0.5);
  return select(a < 0.65625, near, select(x > 0, 1 - y, y));
}

/// The density at 0.
inline constexpr double kNormalPeak = 0.39894228040143267794;

/// Phi(x) + x phi(x), the derivative of gelu, NaN at infinities. The exponential of both is one in float32:
/// e^(-a^2/2) (w / (a + 5/2) - c a) of a = |x|, or that from 1; to 2^-24 of 1, where it passes through 0 (x = -0.752),
/// and for half types to 2^-14 and 2^-18.
template <class B>
Val<B> geluSlope(const Val<B>& x, DType dtype) {
  if (x.wide()) {
    Val<B> c = clampTo(x, -40, 40), h = c * c, l = fma(c, c, -h), e = exp(h * -0.5);
    return fma(x, 0, fma(c, fma(e * l, -0.5, e) * kNormalPeak, normalCdf(x)));
  }
  Val<B> a = atMost(abs(x), 15);
  auto [inverse, ratio, w, g, ki] = isHalf(dtype) ? normalTailHalf(a, dtype) : normalTail32(a);
  Val<B> z = fma(a, -kNormalPeak, inverse * w), y = scaleDown(fma(z, g, z), ki);
  return fma(x, 0, select(x >= 0, 1 - y, y));
}

}  // namespace detail

template <class B>
typename B::V erf(B& b, typename B::V x) {
  return detail::erf(detail::Val(b, x)).v;
}
template <class B>
typename B::V erfc(B& b, typename B::V x) {
  return detail::erfc(detail::Val(b, x)).v;
}
template <class B>
typename B::V ndtr(B& b, typename B::V x) {
  return detail::normalCdf(detail::Val(b, x)).v;
}
template <class B>
typename B::V gelu_slope(B& b, typename B::V x, DType dtype = DType::Float32) {
  return detail::geluSlope(detail::Val(b, x), dtype).v;
}

}  // namespace tandem::math
