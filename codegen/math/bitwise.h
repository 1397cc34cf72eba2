// Shifts of integers by as many places as another integer says, by steps of powers of two: the builder shifts by
// constants only. A number of places below 0 or beyond the width leaves what shifting far enough would.
#pragma once

#include "codegen/math/common.h"

namespace tandem::math {
namespace detail {

/// shift(x, 1 << k) for every bit k that is set in the number of places `n`, which is below the width.
template <class B, class Shift>
Val<B> shiftByBits(Val<B> x, const Val<B>& n, Shift shift) {
  const int width = static_cast<int>(itemSize(x.dtype())) * 8;
  for (int step = 1; step < width; step *= 2) x = select(ne(n & x.cst(step), 0), shift(x, step), x);
  return x;
}
template <class B>
Val<B> outside(const Val<B>& n) {
  const int width = static_cast<int>(itemSize(n.dtype())) * 8;
  Val<B> far = n > (width - 1);
  return isSigned(n.dtype()) ? far | (n < 0) : far;
}

template <class B>
Val<B> shiftLeft(const Val<B>& x, const Val<B>& n) {
  return select(outside(n), 0, shiftByBits(x, n, [](const Val<B>& v, int k) { return v << k; }));
}
/// Copies of the sign come in from the left.
template <class B>
Val<B> shiftRight(const Val<B>& x, const Val<B>& n) {
  if (!isSigned(x.dtype()))
    return select(outside(n), 0, shiftByBits(x, n, [](const Val<B>& v, int k) { return v >> k; }));
  const int width = static_cast<int>(itemSize(x.dtype())) * 8;
  return select(outside(n), ashr(x, width - 1), shiftByBits(x, n, [](const Val<B>& v, int k) { return ashr(v, k); }));
}

}  // namespace detail

template <class B>
typename B::V shift_left(B& b, typename B::V x, typename B::V n) {
  return detail::shiftLeft(detail::Val(b, x), detail::Val(b, n)).v;
}
template <class B>
typename B::V shift_right(B& b, typename B::V x, typename B::V n) {
  return detail::shiftRight(detail::Val(b, x), detail::Val(b, n)).v;
}

}  // namespace tandem::math
