// sigmoid, silu, softplus, logsigmoid, elu, and gelu in its exact form.
#pragma once

#include "codegen/math/erf.h"
#include "codegen/math/log.h"

namespace tandem::math {
namespace detail {

// All from t = e^-|x|, which never overflows: sigmoid is 1 / (1 + t), or t / (1 + t) for negative x.
template <class B>
Val<B> sigmoidPrecise(const Val<B>& x) {
  auto [e0, el, e, es, ki] = expNeg(abs(x));
  auto [d, dl] = fastTwoSum(1, e);
  Val<B> neg = x < 0;
  Val<B> v = quotient(select(neg, e0, 1), select(neg, el, 0), d, dl + es);
  return scale2(v, select(neg, ki, 0));
}
/// Up to here e^-x and e^x are normal numbers.
template <class B>
double normalExp(const Val<B>& x) {
  return pick(x, 87, 708);
}
/// 1 + e^-x for |x| <= normalExp(x), to an ULP. With e^-x = 2^k (1 + p) it is 2^k p + (1 + 2^k): what the last sum
/// loses is added to the product, and e^-x itself is never rounded.
template <class B>
Val<B> onePlusExpNeg(const Val<B>& x) {
  auto [scale, p] = scaledExpNeg(x);
  auto [s, lo] = fastTwoSum(scale, x.cst(1));  // for a scale below 1 too, until it no longer counts
  return fma(p, scale, lo) + s;
}
template <class B>
Val<B> sigmoid(const Val<B>& x) {
  Val<B> big = abs(x) > normalExp(x), y = inverse(onePlusExpNeg(x));
  return select(big, y.with(x.b->ifAny(big.v, [&] { return std::array{sigmoidPrecise(x).v}; }, std::array{y.v})[0]), y);
}
/// x sigmoid(x); silu(-inf) is -0, its limit.
template <class B>
Val<B> siluPrecise(const Val<B>& x) {
  Val<B> a = abs(x), c = atMost(a, pick(x, 110, 760));
  auto [e0, el, e, es, ki] = expNeg(c);
  auto [d, dl] = fastTwoSum(1, e);
  Val<B> neg = x < 0, v = c * e0, vl = fma(c, el, fma(c, e0, -v));
  Val<B> w = quotient(select(neg, v, a), select(neg, vl, 0), d, dl + es);
  w = select(eq(x, kInf), x, w);
  return flipSign(scale2(w, select(neg, ki, 0)), signBit(x));
}
template <class B>
Val<B> silu(const Val<B>& x) {
  Val<B> big = abs(x) > normalExp(x), y = x / onePlusExpNeg(x);
  return select(big, y.with(x.b->ifAny(big.v, [&] { return std::array{siluPrecise(x).v}; }, std::array{y.v})[0]), y);
}
/// log(1 + e^x) = max(x, 0) + log(1 + e^-|x|).
template <class B>
Val<B> softplus(const Val<B>& x) {
  auto [e0, el, e, es, ki] = expNeg(abs(x));
  Val<B> l = log1pSum(e, &es);
  l = select(ki < pick(x, -26, -56), scale2(e0, ki), l);
  return select(eq(x, x), select(x > 0, x, 0) + l, x);
}

}  // namespace detail

template <class B>
typename B::V sigmoid(B& b, typename B::V x) {
  return detail::sigmoid(detail::Val(b, x)).v;
}
template <class B>
typename B::V silu(B& b, typename B::V x) {
  return detail::silu(detail::Val(b, x)).v;
}
template <class B>
typename B::V softplus(B& b, typename B::V x) {
  return detail::softplus(detail::Val(b, x)).v;
}
/// log(sigmoid(x)) = -softplus(-x).
template <class B>
typename B::V logsigmoid(B& b, typename B::V x) {
  return (-detail::softplus(-detail::Val(b, x))).v;
}
/// scale x where x > 0, else factor (e^(x / divisor) - 1), which is left out where no element needs it.
template <class B>
typename B::V elu(B& b, typename B::V x, typename B::V scale, typename B::V factor, typename B::V divisor) {
  const detail::Val<B> at(b, x);
  detail::Val<B> positive = at > 0, y = at * at.with(scale);
  auto below = [&] { return std::array{(at.with(expm1(b, (at / at.with(divisor)).v)) * at.with(factor)).v}; };
  return select(positive, y, y.with(b.ifAny((!positive).v, below, std::array{y.v})[0])).v;
}
/// In float32 for results of `dtype`, if that is a half type.
template <class B>
typename B::V gelu(B& b, typename B::V x, DType dtype = DType::Float32) {
  return isHalf(dtype) ? detail::geluHalf(detail::Val(b, x), dtype).v : detail::gelu(detail::Val(b, x)).v;
}

}  // namespace tandem::math
