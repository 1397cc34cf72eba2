// Sums of numbers given by their logarithms, and products with logarithms: logaddexp, logaddexp2,
// logaddexp3, xlogy, xlog1py, logit.
#pragma once

#include <array>

#include "codegen/math/activations.h"
#include "codegen/math/basic.h"
#include "codegen/math/exp.h"
#include "codegen/math/log.h"

namespace tandem::math {
namespace detail {

/// The larger of two and how far they are apart; infinities of one sign are not apart.
template <class B>
Pair<B> largerAndGap(const Val<B>& x, const Val<B>& y) {
  return {x.with(math::maximum(*x.b, x.v, y.v)), select(eq(x, y), 0, abs(x - y))};
}
template <class B>
Val<B> logaddexp(const Val<B>& x, const Val<B>& y) {
  auto [m, gap] = largerAndGap(x, y);
  return m + softplus(-gap);
}
template <class B>
Val<B> logaddexp2(const Val<B>& x, const Val<B>& y) {
  auto [m, gap] = largerAndGap(x, y);
  return m + softplus(gap * -0x1.62e42fefa39efp-1) * log2e(x);
}
/// The largest of three, and the exponentials of what each is more.
template <class B>
std::array<Val<B>, 4> largestAndExps(const Val<B>& x, const Val<B>& y, const Val<B>& z) {
  const Val<B> m = x.with(math::maximum(*x.b, math::maximum(*x.b, x.v, y.v), z.v));
  return {m, exp(x - m), exp(y - m), exp(z - m)};
}
/// x times a logarithm of y, 0 for x = 0 unless y is NaN.
template <class B>
Val<B> timesLog(const Val<B>& x, const Val<B>& y, const Val<B>& logOfY) {
  return select(ne(y, y), y, select(eq(x, 0), 0, x * logOfY));
}

}  // namespace detail

/// log(e^x + e^y).
template <class B>
typename B::V logaddexp(B& b, typename B::V x, typename B::V y) {
  return detail::logaddexp(detail::Val(b, x), detail::Val(b, y)).v;
}
/// log(e^x + e^y + e^z), of finite numbers.
template <class B>
typename B::V logaddexp3(B& b, typename B::V x, typename B::V y, typename B::V z) {
  auto [m, ex, ey, ez] = detail::largestAndExps(detail::Val(b, x), detail::Val(b, y), detail::Val(b, z));
  return (m + detail::log(ex + ey + ez)).v;
}
/// e^x / (e^x + e^y + e^z), of finite numbers.
template <class B>
typename B::V logaddexp3_share(B& b, typename B::V x, typename B::V y, typename B::V z) {
  auto [m, ex, ey, ez] = detail::largestAndExps(detail::Val(b, x), detail::Val(b, y), detail::Val(b, z));
  return (ex / (ex + ey + ez)).v;
}
/// log2(2^x + 2^y).
template <class B>
typename B::V logaddexp2(B& b, typename B::V x, typename B::V y) {
  return detail::logaddexp2(detail::Val(b, x), detail::Val(b, y)).v;
}
/// x log(y).
template <class B>
typename B::V xlogy(B& b, typename B::V x, typename B::V y) {
  const detail::Val vy(b, y);
  return detail::timesLog(detail::Val(b, x), vy, detail::log(vy)).v;
}
/// x log(1 + y).
template <class B>
typename B::V xlog1py(B& b, typename B::V x, typename B::V y) {
  const detail::Val vy(b, y);
  return detail::timesLog(detail::Val(b, x), vy, detail::log1p(vy)).v;
}
/// log(x / (1 - x)).
template <class B>
typename B::V logit(B& b, typename B::V x) {
  const detail::Val v(b, x);
  return detail::log(v / (1 - v)).v;
}

}  // namespace tandem::math
