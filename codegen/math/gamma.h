// lgamma, digamma and trigamma. All are computed in float64, in which float32 needs no further care. Polynomials are
// near-minimax (Chebyshev) approximations; formulas: Abramowitz and Stegun, 6.1 and 6.3 (reflection, recurrence,
// Stirling).
#pragma once

#include "codegen/math/common.h"
#include "codegen/math/log.h"

namespace tandem::math {
namespace detail {

/// f(x) computed in float64 and rounded to x's dtype.
template <class B, class F>
typename B::V inFloat64(B& b, typename B::V x, F f) {
  const DType t = b.dtype(x);
  if (t == DType::Float64) return f(Val(b, x)).v;
  return f(Val(b, x).cast(DType::Float64)).cast(t).v;
}

/// sin(pi f) / f for |f| <= 1/2, z = f^2.
template <class B>
Val<B> sinPiOver(const Val<B>& z) {
  return horner(z, {-0x1.7ed4cd7222586p-26, 0x1.aabbe3815eb60p-21, -0x1.6fad488852625p-16, 0x1.e8f4338e03a66p-12,
                    -0x1.e3074fdc520eap-8, 0x1.50783487ec19ap-4, -0x1.32d2cce62bd57p-1, 0x1.466bc6775aae2p+1,
                    -0x1.4abbce625be53p+2, 0x1.921fb54442d18p+1});
}

/// lgamma(1 + e) / e and lgamma(2 + e) / e for |e| <= 1/2.
template <class B>
Val<B> lgammaNear1(const Val<B>& e) {
  return horner(e, {-0x1.cd15fe0d2180bp-3, 0x1.db8d14b984b43p-3, 0x1.58c191555bd4ap-3,  -0x1.62854cae55f9cp-3,
                    -0x1.3a2cb924be3d0p-3, 0x1.448ab2237ef85p-3, -0x1.25f238329208dp-8, 0x1.5b48e83ba44edp-8,
                    -0x1.cffe0bc18662ep-5, 0x1.e5b198f977938p-5, -0x1.a33fa4f50c02ep-5, 0x1.bad978c589529p-5,
                    -0x1.e33d673e67c0fp-5, 0x1.00b36c1e271b0p-4, -0x1.11055d77f9801p-4, 0x1.24889fbacf506p-4,
                    -0x1.3b1e5a452e83ep-4, 0x1.556b9f1bd3bb4p-4, -0x1.748c2beab2e19p-4, 0x1.9a01dc292eeadp-4,
                    -0x1.c806709756039p-4, 0x1.010b36c523ee9p-3, -0x1.2703a1dca49d9p-3, 0x1.5b40cb0fc4855p-3,
                    -0x1.a8b9c17aa6802p-3, 0x1.151322ac7dbbep-2, -0x1.9a4d55beab2d5p-2, 0x1.a51a6625307d2p-1,
                    -0x1.2788cfc6fb619p-1});
}
template <class B>
Val<B> lgammaNear2(const Val<B>& e) {
  return horner(e, {-0x1.1be56b7e101c6p-23, 0x1.2b4bb069ee6a9p-22, -0x1.d06b46182e294p-22, 0x1.edf317afe0c72p-21,
                    -0x1.125408d7ee6ebp-19, 0x1.2640a5e8ab73ep-18, -0x1.3cb5f201754a6p-17, 0x1.5806d7786fbc2p-16,
                    -0x1.78de85fa0bf74p-15, 0x1.a127dd231f4b2p-14, -0x1.d3fd4bda4f97bp-13, 0x1.0b36af3424c50p-11,
                    -0x1.38ac5c2c96006p-10, 0x1.7add6eae5b8fdp-9, -0x1.e404fc218ecffp-8, 0x1.51322ac7d7fd2p-6,
                    -0x1.13e001a557607p-4, 0x1.4a34cc4a60fa7p-2, 0x1.b0ee6072093cep-2});
}

/// x (log Gamma(x) - (x - 1/2)(log x - 1) - (log 2 pi - 1)/2) for x >= 8.5, z = 1/x^2.
template <class B>
Val<B> stirlingTail(const Val<B>& z) {
  return horner(z, {-0x1.6296f938fde04p-6, 0x1.9953fe129858ap-8, -0x1.f62ea65dab7ecp-10, 0x1.b9504e2ac3faap-11,
                    -0x1.38137fcfdca11p-11, 0x1.a01a019f7bac4p-11, -0x1.6c16c16c16bacp-9, 0x1.5555555555555p-4});
}

/// log |Gamma(x)|, x in float64.
template <class B>
Val<B> lgamma64(const Val<B>& x) {
  Val<B> a = abs(x), middle = a < 8.5;
  // 2.5 <= a < 8.5: Gamma(a) = (a - 1)(a - 2) ... t Gamma(t) with t in [1.5, 2.5); all differences are exact.
  Val<B> product = a - 1, t = product;
  for (int k = 2; k <= 6; ++k) {
    Val<B> factor = a - k, more = factor > 1.4999999999999998;
    t = select(more, factor, t);
    product = select(more, product * factor, product);
  }
  Val<B> low = a < 2.5, l = log(select(low, a, select(middle, product, a)));
  Val<B> nearOne = a < 1.5, small = a < 0.5;
  Val<B> e1 = select(small, x, a - 1), e2 = select(low, a - 2, t - 2), near2 = e2 * lgammaNear2(e2);
  Val<B> r = 1 / a, far = fma(a - 0.5, l - 1, fma(r, stirlingTail(r * r), 0x1.acfe390c97d69p-2));
  Val<B> y = select(middle, l + near2, far);
  y = select(low, near2, y);
  y = select(nearOne, fma(e1, lgammaNear1(e1), select(small, -l, 0)), y);
  // Gamma(x) Gamma(-x) = -pi / (x sin(pi x)); at the poles the terms may both be infinite
  Val<B> f = a - roundeven(a), sine = abs(f * sinPiOver(f * f));
  Val<B> reflected = select(eq(f, 0), kInf, log(0x1.921fb54442d18p+1 / (a * sine)) - y);
  y = select(x <= -0.5, reflected, y);
  return select(eq(a, kInf), kInf, y);
}

/// (log x - 1/(2 x) - digamma(x)) x^2 for x >= 8.5, z = 1/x^2.
template <class B>
Val<B> digammaTail(const Val<B>& z) {
  return horner(z, {0x1.e02879022e82ep+0, -0x1.aa177e67701fcp-2, 0x1.53dd3b959abd9p-4, -0x1.5989b9c6d6ae5p-6,
                    0x1.f07be5f2c3a7fp-8, -0x1.111110ea3dcdcp-8, 0x1.0410410402f5cp-8, -0x1.1111111111103p-7,
                    0x1.5555555555555p-4});
}
/// digamma(x) / (x - x0) for 1 <= x <= 2.5, t = x - 1.75, x0 = 1.4616... the zero.
template <class B>
Val<B> digammaNear(const Val<B>& t) {
  return horner(t, {0x1.7eaeafac4b299p-21, -0x1.4ed8ea2e54492p-20, -0x1.1907b4cc32e6cp-21, 0x1.ebcd0052a705ap-21,
                    0x1.8dd2557337dbcp-19, -0x1.5c189a81430a7p-18, 0x1.32463b37b4b41p-18,  -0x1.0bff86cf217f3p-17,
                    0x1.1b1fac9c0c930p-16, -0x1.ef7f4dc81652bp-16, 0x1.a6f99b2633514p-15,  -0x1.72295776ffc7ep-14,
                    0x1.44c73e7f8147ap-13, -0x1.1c4ac344beb50p-12, 0x1.f1bba20f0ecf9p-12,  -0x1.b3f100547792ap-11,
                    0x1.7e0acc36c9201p-10, -0x1.4f1c2e4b85d03p-9,  0x1.266020d553268p-8,   -0x1.0335d246182eep-7,
                    0x1.ca494722e2420p-7,  -0x1.97cc6e10b933cp-6,  0x1.6effaf57e5883p-5,   -0x1.510ab0e5485b7p-4,
                    0x1.41c830a3206e6p-3,  -0x1.4e15b17372db4p-2,  0x1.b763ca67112a0p-1});
}

/// The derivative of log |Gamma(x)|, x in float64.
template <class B>
Val<B> digamma64(const Val<B>& x) {
  Val<B> a = abs(x), below = x < 0, one = a < 1;
  // 2.5 < a < 8.5: digamma(a) = digamma(t) + 1/(a - 1) + ... + 1/t with t in (1.5, 2.5]; the sum as one fraction.
  Val<B> denominator = a - 1, t = denominator, numerator = a.cst(1);
  for (int k = 2; k <= 6; ++k) {
    Val<B> factor = a - k, more = factor > 1.5;
    t = select(more, factor, t);
    numerator = select(more, fma(numerator, factor, denominator), numerator);
    denominator = select(more, denominator * factor, denominator);
  }
  Val<B> low = a <= 2.5;
  t = select(low, a, t);
  // digamma(a) for a < 1 is digamma(a + 1) - 1/a; below zero the terms 1/a cancel.
  Val<B> d = select(one, (a - 0x1.d8b618d5af8fep-2) + 0x1.1e563779a1f5bp-56,
                    (t - 0x1.762d86356be3fp+0) - 0x1.b86a722197829p-54);
  Val<B> near = d * digammaNear(select(one, a - 0.75, t - 1.75)), r = 1 / a;
  Val<B> fraction = select(low, select(one, select(below, 0, -r), select(below, r, 0)),
                           numerator / denominator + select(below, r, 0));
  Val<B> far = fma(-(r * r), digammaTail(r * r), log(a) - 0.5 * r) + select(below, r, 0);
  Val<B> y = select(a < 8.5, near + fraction, far);
  // digamma(-a) = digamma(a) + 1/a + pi cot(pi a)
  Val<B> f = a - roundeven(a), rest = 0.5 - abs(f);
  Val<B> cot = (rest * sinPiOver(rest * rest)) / (f * sinPiOver(f * f));
  y = select(below, fma(cot, 0x1.921fb54442d18p+1, y), y);
  y = select(below & eq(f, 0), kNaN, y);
  return select(eq(a, 0), flipSign(a.cst(-kInf), signBit(x)), y);
}

/// (trigamma(x) - 1/x - 1/(2 x^2)) x for x >= 10, z = 1/x^2: the numbers of Bernoulli.
template <class B>
Val<B> trigammaTail(const Val<B>& z) {
  return z * horner(z, {-0x1.c5e5e5e5e5e5ep+2, 0x1.2aaaaaaaaaaabp+0, -0x1.0330330330330p-2, 0x1.364d9364d9365p-4,
                        -0x1.1111111111111p-5, 0x1.8618618618618p-6, -0x1.1111111111111p-5, 0x1.5555555555555p-3});
}

/// The derivative of digamma, x in float64.
template <class B>
Val<B> trigamma64(const Val<B>& x) {
  // trigamma(x) + trigamma(1 - x) = (pi / sin(pi x))^2
  Val<B> left = x < 0.5, a = select(left, 1 - x, x);
  // Below 10: trigamma(a) = 1/a^2 + ... + 1/(t - 1)^2 + trigamma(t), t in [10, 11), small terms first.
  constexpr int kFar = 10;
  Val<B> count = select(a < kFar, kFar - floor(a), 0), t = a + count, r = 1 / t, z = r * r;
  Val<B> y = fma(r, trigammaTail(z), 0.5 * z) + r;
  for (int k = kFar - 1; k >= 0; --k) {
    Val<B> term = a + k;
    y = y + select(count > k, 1 / (term * term), 0);
  }
  Val<B> f = x - roundeven(x), sine = f * sinPiOver(f * f), quotient = 0x1.921fb54442d18p+1 / sine;
  return select(left, quotient * quotient - y, y);
}

}  // namespace detail

/// log |Gamma(x)|: +inf at 0, the negative integers and both infinities.
template <class B>
typename B::V lgamma(B& b, typename B::V x) {
  return detail::inFloat64(b, x, [](const auto& v) { return detail::lgamma64(v); });
}
/// -inf at +0, +inf at -0, NaN at the negative integers.
template <class B>
typename B::V digamma(B& b, typename B::V x) {
  return detail::inFloat64(b, x, [](const auto& v) { return detail::digamma64(v); });
}

/// +inf at both zeros and the negative integers.
template <class B>
typename B::V trigamma(B& b, typename B::V x) {
  return detail::inFloat64(b, x, [](const auto& v) { return detail::trigamma64(v); });
}

}  // namespace tandem::math
