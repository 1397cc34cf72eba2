// The inverse of erf: a polynomial in -log(1 - x^2) (Giles, "Approximating the erfinv function", 2012, has the idea),
// made exact by one step of Halley's method. Computed in float64.
#pragma once

#include "codegen/math/erf.h"
#include "codegen/math/exp.h"
#include "codegen/math/gamma.h"

namespace tandem::math {
namespace detail {

template <class B>
Val<B> erfinv64(const Val<B>& x) {
  Val<B> a = abs(x), rest = 1 - a, w = -log(rest * (1 + a));
  // erfinv(x) / x, to 1e-9 and 1e-6
  Val<B> near =
      horner(w - 2.5, {0x1.0f810cd459d8fp-33, 0x1.dd41c8690491bp-32, -0x1.75351001f6a5ap-27, 0x1.1b87cb49df7c4p-26,
                       0x1.00fe9cd1418bbp-21, -0x1.cbdd9c4cb7373p-19, -0x1.4f46a0da98c92p-18, 0x1.c9bba8f339f32p-13,
                       -0x1.4863ced547e02p-10, -0x1.11c3e29af6b02p-8, 0x1.f91e899417ac0p-3, 0x1.805c5cffaabf1p+0});
  Val<B> far =
      horner(sqrt(w) - 4, {0x1.658205302de95p-21, -0x1.1f03a56a44b2ep-19, -0x1.d652a3214a515p-18, 0x1.3e0533b89a11fp-15,
                           -0x1.a1de84d251435p-15, 0x1.9eafd74aece3bp-16, -0x1.67e06d55aaaa4p-14, 0x1.67cdcb0a3881ap-12,
                           -0x1.d2c1112235234p-11, 0x1.48bd9574ec950p-10, 0x1.026e6588aa722p+0, 0x1.eb7e0b25ec57ap+1});
  Val<B> y = a * select(w < 5, near, far);
  // erf(y) - a, from whichever side is exact
  Val<B> miss = select(a < 0.5, erf(y) - a, rest - erfc(y));
  Val<B> u = miss * (exp(y * y) * 0x1.c5bf891b4ef6ap-1);
  y = y - u / fma(y, u, 1);
  y = select(a < 1, y, kNaN);
  return flipSign(select(eq(a, 1), kInf, y), signBit(x));
}

}  // namespace detail

/// The y with erf(y) = x: infinite at -1 and 1, NaN beyond.
template <class B>
typename B::V erfinv(B& b, typename B::V x) {
  return detail::inFloat64(b, x, [](const auto& v) { return detail::erfinv64(v); });
}

}  // namespace tandem::math
