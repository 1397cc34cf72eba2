// The Airy function Ai, computed in float64. Polynomials are near-minimax (Chebyshev) approximations, whose
// coefficients were computed with mpmath to 60 digits; formulas: Abramowitz and Stegun, 10.4.59 to 10.4.64, with zeta =
// 2/3 |x|^(3/2) as a sum of two numbers: its rounding error alone would turn the phase, and scale the exponential.
//
// Errors: at most 5e-15 of the value, below 0 of the envelope |x|^(-1/4) / sqrt(pi), down to x = -1e11. Beyond, the
// phase has lost the digits that zeta has before the point.
#pragma once

#include "codegen/math/exp.h"
#include "codegen/math/gamma.h"
#include "codegen/math/trig.h"

namespace tandem::math {
namespace detail {

/// Ai(x) for -4.5 <= x <= 0, t = x + 2.25.
template <class B>
Val<B> airyBelow(const Val<B>& t) {
  return horner(t, {-0x1.5ff0fb16c28cbp-65, 0x1.e83201735bf71p-62,  0x1.1dc7c28063765p-60,  -0x1.820d8bfcc1dd7p-55,
                    0x1.f1a4189364dbbp-53,  0x1.820d068c651b5p-50,  -0x1.94dd9498c02b7p-46, 0x1.2c6cdcba84ef9p-44,
                    0x1.d3f9f20dd8c43p-41,  -0x1.2b2b3239b89b7p-37, 0x1.37f27c1f42f77p-37,  0x1.71385a6ff6fcep-32,
                    -0x1.27d140b5ba20ep-29, -0x1.24b3c06e52940p-29, 0x1.73b7071f3f193p-24,  -0x1.599170a019e23p-22,
                    -0x1.3a6f8366c95c8p-20, 0x1.b818e19804d8fp-17,  -0x1.5b36852b4faf1p-16, -0x1.a5ea54fb93d62p-13,
                    0x1.038b79f94103ap-10,  0x1.7ed49cb102567p-12,  -0x1.bfbcac96a9530p-7,  0x1.94b3e8bee3830p-6,
                    0x1.227414a06b12dp-4,   -0x1.005f9633027fcp-2,  -0x1.1bd8bc10a505bp-4,  0x1.63d92a0bf2328p-1,
                    0x1.f89dc01d9726ap-5});
}
/// Ai(x) for 0 <= x <= 2, t = x - 1.
template <class B>
Val<B> airyAbove(const Val<B>& t) {
  return horner(t, {-0x1.d64958611eb88p-41, 0x1.9a8d0feee0e24p-38, 0x1.9a1cb06f75dccp-40, -0x1.2fb1d72c20a87p-32,
                    0x1.fa81546583592p-30, -0x1.9224201160c21p-30, -0x1.e571039de83bdp-25, 0x1.a4bf3c0b78cd9p-22,
                    -0x1.4ce98e9b690f6p-21, -0x1.caff265547d48p-18, 0x1.a2f4418f8bbbfp-15, -0x1.bb8e59ea09e35p-14,
                    -0x1.957b74cedfae7p-12, 0x1.a14527f874098p-9, -0x1.f3b7fefd78c4bp-8, -0x1.048f7c0673213p-8,
                    0x1.151430bbaf656p-4, -0x1.45ef17fce4faep-3, 0x1.151430bbaf656p-3});
}
/// 2 sqrt(pi) x^(1/4) e^zeta Ai(x) for x >= 2, t = 1/zeta - 17/64.
template <class B>
Val<B> airyDecay(const Val<B>& t) {
  return horner(t, {0x1.6380523d4d081p+8, -0x1.4912d7c1e5a3bp+7, -0x1.0c478ae5e15ebp+6, 0x1.e0e6b97cbefd5p+4,
                    0x1.7b7fc001fce9dp+3, -0x1.65a7d8a0c28d8p+2, 0x1.fea521145f8fcp-4,  -0x1.0c6304d4d4f12p-3,
                    0x1.10d39583890e0p-2, -0x1.35eaa24cfd958p-3, 0x1.51570c0453cdep-4,  -0x1.a496b9ced553ap-5,
                    0x1.124f35250eda7p-5, -0x1.740bc4ce1c51ap-6, 0x1.0a65558d5be79p-6,  -0x1.9737ac3ffb213p-7,
                    0x1.50e4e8173a113p-7, -0x1.33e09fe6b1fa7p-7, 0x1.4081f4c4fbd6bp-7,  -0x1.8fdd82a62539cp-7,
                    0x1.490612df20dd1p-6, -0x1.c350f97773501p-5, 0x1.f7a17d30abb37p-1});
}
/// Ai(-x) sqrt(pi) x^(1/4) is P cos(zeta - pi/4) + Q sin(zeta - pi/4): P for x >= 4.5, t = 1/zeta^2 - 1/80.
template <class B>
Val<B> airyP(const Val<B>& t) {
  return horner(t, {0x1.8c999f309efa9p+45, -0x1.6fca88bdf5f86p+40, 0x1.e5a82565e511dp+33, -0x1.30df459398927p+29,
                    0x1.017a2f4fe8c45p+25, -0x1.4e035fd10f037p+20, 0x1.da7249510c088p+15, -0x1.86f959d4dec2fp+11,
                    0x1.78e607c98e028p+7, -0x1.bc8aed7b58153p+3, 0x1.57f7c8a89666fp+0, -0x1.86d9f98b5a543p-3,
                    0x1.9047531dd16aap-5, -0x1.255aa28dc570cp-5, 0x1.ffc446504c0f4p-1});
}
/// zeta Q.
template <class B>
Val<B> airyQ(const Val<B>& t) {
  return horner(t, {0x1.4b2020580704ep+70, -0x1.f6a9c17227200p+64, -0x1.bacbcfe7c30aap+57, 0x1.0590987822aa1p+52,
                    0x1.fda7eb3ce53f2p+47, -0x1.c0e1db4dce1dap+42, 0x1.329bcbbd99149p+37, -0x1.4d68e736ddea2p+32,
                    0x1.8ce7a021aea48p+27, -0x1.e7a1fd603cf48p+22, 0x1.48415de831924p+18, -0x1.ef3400d541be3p+13,
                    0x1.ad0b91a89aa2ap+9, -0x1.bb7275d79f572p+5, 0x1.21283981ffb31p+2, -0x1.03cc342db6362p-1,
                    0x1.75df04e188c4cp-4, -0x1.223c0c2fd8448p-5, 0x1.1a91454058685p-4});
}

template <class B>
Val<B> airyAi(const Val<B>& x) {
  Val<B> size = abs(x), a = atMost(size, 1e200), s = sqrt(a), sl = fma(-s, s, a) / (s + s);
  Val<B> p = s * a, pl = fma(sl, a, fma(s, a, -p));  // a^(3/2)
  const double third = 0x1.5555555555555p-1, thirdLow = 0x1.5555555555555p-55;
  Val<B> zeta = p * third, low = fma(pl, third, fma(p, thirdLow, fma(p, third, -zeta))), u = 1 / zeta;
  Val<B> fourth = sqrt(sqrt(size));

  auto decay = [&] {
    Val<B> e = exp(zeta * -0.5), y = airyDecay(u - 0.265625) / (fourth * 0x1.c5bf891b4ef6bp+1);
    return ((y * e) * e) * (1 - select(zeta < 0x1p11, low, 0));
  };
  auto wave = [&] {
    Val<B> t = fma(u, u, -0x1.999999999999ap-7), P = airyP(t), Q = airyQ(t) * u;
    auto [r, rl, quadrant] = reduceTrig(zeta, true);
    Val<B> sz = sinOfQuadrant(TrigArg<B>{r, rl, quadrant});
    Val<B> cz = sinOfQuadrant(TrigArg<B>{r, rl, quadrant + quadrant.cst(1)});
    Val<B> sLow = sin(low), cLow = cos(low), sine = fma(sz, cLow, cz * sLow), cosine = fma(cz, cLow, -(sz * sLow));
    return fma(P, cosine + sine, Q * (sine - cosine)) / (fourth * 0x1.40d931ff62706p+1);
  };
  auto far = [&] { return either(x > 2, x, decay, wave); };
  auto near = [&] { return either(x <= 0, x, [&] { return airyBelow(x + 2.25); }, [&] { return airyAbove(x - 1); }); };
  Val<B> y = either((x >= -4.5) & (x <= 2), x, near, far);
  return select(eq(size, kInf), 0, select(eq(x, x), y, x));
}

}  // namespace detail

/// Ai(x); 0 at the infinities.
template <class B>
typename B::V airy_ai(B& b, typename B::V x) {
  return detail::inFloat64(b, x, [](const auto& v) { return detail::airyAi(v); });
}

}  // namespace tandem::math
