// Optimizer updates over a builder's values: what ir/schema/optimizer_updates.h asks of them. Numbers (learning rate,
// decay, flags as 0 or 1) come in any dtype and are computed in float64, once for all elements.
#pragma once

#include "codegen/math/basic.h"
#include "codegen/math/pow.h"
#include "ir/schema/optimizer_updates.h"

namespace tandem::math {
namespace detail {

template <class B>
Val<B> maximum(const Val<B>& x, const Val<B>& y) {
  return x.with(math::maximum(*x.b, x.v, y.v));
}
/// Of float64 numbers.
template <class B>
Val<B> power(const Val<B>& x, const Val<B>& y) {
  return powOf64(x, y);
}
template <class B>
Val<B> power(double x, const Val<B>& y) {
  return powOf64(y.cst(x), y);
}
/// A number in the dtype of x.
template <class B>
Val<B> in(const Val<B>& x, const Val<B>& n) {
  return x.with(math::cast(*x.b, n.v, x.dtype()));
}

}  // namespace detail

/// Operands of an update: an element of a tensor, and a number.
template <class B>
detail::Val<B> element(B& b, typename B::V x) {
  return {b, x};
}
template <class B>
detail::Val<B> number(B& b, typename B::V x) {
  return {b, math::cast(b, x, DType::Float64)};
}

}  // namespace tandem::math
