// The scaled complementary error function, and the normal distribution by its logarithm and by its inverse, computed in
// float64. Polynomials are near-minimax (Chebyshev) approximations, whose coefficients were computed with mpmath to 60
// digits. (1 + 2 x) e^(x^2) erfc(x) as a function of (x - 4)/(x + 4) is Shepherd and Laframboise (1981); the quantiles
// in terms of sqrt(-2 log p), Wichura's AS 241 (1988).
//
// Errors: at most 5e-15 of the value.
#pragma once

#include "codegen/math/exp.h"
#include "codegen/math/gamma.h"
#include "codegen/math/log.h"

namespace tandem::math {
namespace detail {

/// (1 + 2 x) e^(x^2) erfc(x) for x >= 0, t = (x - 4) / (x + 4).
template <class B>
Val<B> erfcxAbove(const Val<B>& t) {
  return horner(t, {0x1.7d604a7f621f4p-35,  -0x1.2dbbbb75b6682p-33, -0x1.2d277a41632e3p-31, 0x1.ebb009434f4efp-30,
                    0x1.117f492198859p-28,  -0x1.f9443297365a1p-27, -0x1.78888d24fa8a1p-26, 0x1.d8d5b12b4bdebp-24,
                    0x1.5305495fa5317p-24,  -0x1.badf24e872985p-21, 0x1.385bb6c82456ap-22,  0x1.7f235478fdcf6p-18,
                    -0x1.788189c990557p-17, -0x1.9958a8c635c6bp-16, 0x1.3be032de511d3p-13,  -0x1.a1df2ad41dddep-13,
                    -0x1.8d4a9990c5199p-11, 0x1.49c6728db72cdp-8,   -0x1.0962388548d8dp-6,  0x1.3079edf668f38p-5,
                    -0x1.0fb06dfe48b0ep-4,  0x1.7fee004e13186p-4,   -0x1.9ddb23c3e9106p-4,  0x1.16ecefcfa533fp-4,
                    0x1.f7f5df66fd7bep-7,   -0x1.1df1ad154a28ep-3,  0x1.3ba5916e9fd7fp+0});
}
/// The normal quantile of 1/2 + y, divided by y, for |y| <= 3/8, t = y^2 - 9/128.
template <class B>
Val<B> quantileCentre(const Val<B>& t) {
  return horner(t, {0x1.a371a344120b4p+45, 0x1.3d612b8d0549ap+43, 0x1.0a5bad801cadap+39, 0x1.9b1e222b94863p+36,
                    0x1.1b5b1270f1c53p+35, 0x1.b3f76fc267b37p+32, 0x1.383b778f78e4bp+30, 0x1.e62db6c00b06cp+27,
                    0x1.7fef5bb552eb1p+25, 0x1.2ef2851a6e347p+23, 0x1.e20e68895d012p+20, 0x1.83cb658caaeb7p+18,
                    0x1.3c0a6d2305135p+16, 0x1.05cad6ab87559p+14, 0x1.baf820527ee4ap+11, 0x1.8192dd04e2100p+9,
                    0x1.5d6a59113d5bdp+7,  0x1.50bab65cb0e89p+5,  0x1.687f1dc4a327dp+3,  0x1.e143e6b0e1b27p+1,
                    0x1.5d035b66e70fep+1});
}
/// Minus the normal quantile of e^(-w^2/2), divided by w, for 2 <= w <= 6, t = 1/(w + 2) - 3/16.
template <class B>
Val<B> quantileTail(const Val<B>& t) {
  return horner(t, {-0x1.5d74c5e514a99p+33, -0x1.f3e71f9cf7a91p+31, -0x1.c2e43877f46e5p+29, -0x1.269be42fab24bp+28,
                    -0x1.650262d66cf5bp+26, -0x1.c75dabf5e349bp+24, -0x1.11b83fe47be97p+23, -0x1.5765a949f458dp+21,
                    -0x1.9ff339a4765c3p+19, -0x1.02233d1fd863bp+18, -0x1.389f7fe2ef102p+16, -0x1.803d21d61e2edp+14,
                    -0x1.cea419f64b438p+12, -0x1.18c46cad0a5b1p+11, -0x1.4c3e614cdf278p+9,  -0x1.8a31a3cde3d74p+7,
                    -0x1.bcec74ef66bf0p+5,  -0x1.e323225030d71p+3,  -0x1.602426a1d137ap+1,  0x1.991f7a77950eap-1});
}
/// The same for 6 <= w <= 38.75, t = 1/(w + 6) - 0x1.b0ced40000000p-5.
template <class B>
Val<B> quantileFarTail(const Val<B>& t) {
  return horner(t, {0x1.a85fca2dc5d87p+70,  -0x1.bf794218f9c60p+66, -0x1.817dc00e6d971p+61, 0x1.aba4b8aba9c8bp+56,
                    0x1.485bf2f62165dp+52,  -0x1.604de9f3660a6p+50, -0x1.da26bdcb4d145p+45, -0x1.3b9ff3b0a3836p+43,
                    -0x1.b9c8cc44b6574p+39, -0x1.d3e82fca1669bp+36, -0x1.76cf17c373c2ep+33, -0x1.6150f1a9a1864p+30,
                    -0x1.2a1b3e17cb3f4p+27, -0x1.0bf4d96478483p+24, -0x1.c6ceb099d857cp+20, -0x1.8ac1c302bb0cfp+17,
                    -0x1.46cd4434d5062p+14, -0x1.0d36323bb0d12p+11, -0x1.9a4b36b0b4210p+7,  -0x1.23f8fbdeccccep+4,
                    -0x1.ffd30532a9ae6p-1,  0x1.f5470a28a7e80p-1});
}

/// e^(a^2) erfc(a) for a >= 0.
template <class B>
Val<B> erfcxPositive(const Val<B>& a) {
  return (erfcxAbove(1 - 8 / (a + 4)) * 0.5) / (a + 0.5);
}
template <class B>
Val<B> erfcx(const Val<B>& x) {
  Val<B> a = abs(x), y = erfcxPositive(a), b = atMost(a, 30), h = b * b, l = fma(b, b, -h);
  return select(x < 0, exp(h) * (1 + l) * 2 - y, y);
}

/// The logarithm of the normal distribution function; below 0 by way of e^(x^2/2) Phi(x), which does not underflow.
template <class B>
Val<B> logNdtr(const Val<B>& x) {
  Val<B> a = abs(x), mills = erfcxPositive(a * 0x1.6a09e667f3bcdp-1) * 0.5;
  auto above = [&] {
    Val<B> b = atMost(a, 40), h = b * b, l = fma(b, b, -h), e = exp(h * -0.25);
    return log1p(-(((mills * e) * e) * fma(l, -0.5, 1)));
  };
  return either(x < 0, x, [&] { return fma(a * -0.5, a, log(mills)); }, above);
}

/// The x with Phi(x) = p: infinite at 0 and 1, NaN beyond.
template <class B>
Val<B> ndtri(const Val<B>& p) {
  Val<B> y = p - 0.5;
  auto far = [&] {
    Val<B> tail = select(p < 0.5, p, 1 - p), w = sqrt(log(tail) * -2);
    Val<B> x = w * either(
                       w <= 6, w, [&] { return quantileTail(1 / (w + 2) - 0.1875); },
                       [&] { return quantileFarTail(1 / (w + 6) - 0x1.b0ced40000000p-5); });
    x = select(eq(tail, 0), kInf, x);
    return select(p < 0.5, -x, x);
  };
  return either(abs(y) <= 0.375, y, [&] { return y * quantileCentre(fma(y, y, -0.0703125)); }, far);
}

}  // namespace detail

/// e^(x^2) erfc(x).
template <class B>
typename B::V erfcx(B& b, typename B::V x) {
  return detail::inFloat64(b, x, [](const auto& v) { return detail::erfcx(v); });
}
/// log Phi(x), Phi the standard normal distribution.
template <class B>
typename B::V log_ndtr(B& b, typename B::V x) {
  return detail::inFloat64(b, x, [](const auto& v) { return detail::logNdtr(v); });
}
/// The inverse of Phi: -inf at 0, +inf at 1, NaN outside [0, 1].
template <class B>
typename B::V ndtri(B& b, typename B::V x) {
  return detail::inFloat64(b, x, [](const auto& v) { return detail::ndtri(v); });
}

}  // namespace tandem::math
