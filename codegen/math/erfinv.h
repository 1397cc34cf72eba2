// The inverse of erf: a polynomial in -log(1 - x^2) (Giles, "Approximating the erfinv function", 2012, has the idea),
// of its root near the ends.
#pragma once

#include "codegen/math/log.h"

namespace tandem::math {
namespace detail {

/// erfinv(x) / |x| of w = -log(1 - x^2) <= 6.25, and of its root from 2.5 on; in float32 less 1.
template <class B>
Val<B> erfinvNear(const Val<B>& w) {
  Val<B> t = w - 3.125;
  if (!w.wide())
    return horner(t, {0x1.6ae042p-31, -0x1.38ed4p-28, -0x1.a75e9p-26, 0x1.c7dc7p-22, -0x1.74fe26p-20, -0x1.d1bb4p-17,
                      0x1.87bdeap-13, -0x1.8458dap-11, -0x1.8b6d4cp-8, 0x1.ebd80ep-3, 0x1.4eabdp-1});
  return horner(t, {0x1.e9b8ae7230c25p-69,  -0x1.5087a244b0f6cp-70, -0x1.9d290dd3bcb70p-62, 0x1.536d397f9b9b1p-60,
                    0x1.1f4ba5de5dc3fp-56,  -0x1.2c266176e7096p-53, -0x1.73898c37dc54ap-55, 0x1.db523eb040288p-48,
                    -0x1.686642b67610ap-45, -0x1.6d9ec5e3ec6afp-44, 0x1.723527b7cff86p-39,  -0x1.c89564c5d1004p-37,
                    -0x1.dc3ee8b6c53ccp-35, 0x1.20f4e6bf074cfp-30,  -0x1.1a9eb1bc8f0f0p-28, -0x1.f36ce4ae847fdp-26,
                    0x1.c6b4f890935ddp-22,  -0x1.6e8a53f106129p-20, -0x1.d1d1f7ca4030fp-17, 0x1.879c2a20da432p-13,
                    -0x1.84576948353e1p-11, -0x1.8b6c33114eeaep-8,  0x1.ebd80d9b13df9p-3,   0x1.a755e7c99ae86p+0});
}
template <class B>
Val<B> erfinvFar(const Val<B>& root) {
  if (!root.wide())
    return horner(root - 3.25, {-0x1.084344p-12, 0x1.ec2306p-11, -0x1.c6f31cp-10, 0x1.47f1a8p-9, -0x1.eaaf5ap-9,
                                0x1.5fdffep-8, 0x1.0158a2p+0, 0x1.0abcc4p+1});
  return horner(root - 4.375,
                {0x1.b8a1abbce4aacp-52,  -0x1.1c6147bd0f501p-48, 0x1.942be176c6876p-47,  0x1.b2b862c3c3309p-46,
                 -0x1.1aed54f748602p-42, 0x1.c0f9ea26a6b0ap-41,  -0x1.22c8680e35b76p-40, -0x1.1a9cbf6e43f18p-38,
                 0x1.18f5dd3a4329dp-35,  -0x1.bcfce8dde8520p-34, 0x1.ff18073f19774p-34,  0x1.d1e87eb60e069p-32,
                 -0x1.6ee168398440dp-29, 0x1.01313d40c3fd0p-27,  -0x1.6ecdce413e05ep-27, -0x1.22c8da0319c34p-27,
                 0x1.b8cd41e42fc4bp-24,  -0x1.841e8793853d4p-22, 0x1.dba6cdbba8028p-21,  -0x1.d54b9ca135c46p-20,
                 0x1.9e866f29955d8p-19,  -0x1.8b09cee5d43e8p-18, 0x1.fc07f48614514p-17,  -0x1.a995f92772924p-15,
                 0x1.720e8f68cf87dp-13,  -0x1.0bf572df2556ap-11, 0x1.07fa4e1616d0ap-11,  0x1.0297d9b03abe9p+0,
                 0x1.0dfb96818b471p+2});
}

template <class B>
Val<B> erfinv(const Val<B>& x) {
  Val<B> a = abs(x), w = a;
  if (x.wide()) {
    w = -logOfNormal((1 - a) * (1 + a));
  } else {
    auto [f, ef] = splitLogOfNormal(fma(-a, a, 1));  // an error of w that is small beside 1 does not matter
    w = -fma(ef, ln2Hi(x), addLogTail(f, f));
  }
  Val<B> far = (w > 6.25) & (a < 1), near = erfinvNear(w);
  auto end = [&] { return std::array{erfinvFar(sqrt(w)).v}; };
  Val<B> p = select(far, x.with(x.b->ifAny(far.v, end, std::array{near.v})[0]), near), y = p;
  y = x.wide() ? a * p : fma(a, p, a);
  y = select(eq(a, 1), kInf, select(a < 1, y, kNaN));
  return flipSign(y, signBit(x));
}

}  // namespace detail

/// The y with erf(y) = x: infinite at -1 and 1, NaN beyond.
template <class B>
typename B::V erfinv(B& b, typename B::V x) {
  return detail::erfinv(detail::Val(b, x)).v;
}

}  // namespace tandem::math
