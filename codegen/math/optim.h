// Optimizer updates, one element of a parameter at a time. Numbers (learning rate, decay, flags as 0 or 1) come in any
// dtype and are computed in float64, once for all elements; parameters, gradients and state share one floating dtype.
#pragma once

#include "codegen/math/basic.h"
#include "codegen/math/pow.h"

namespace tandem::math {
namespace detail {

template <class B>
Val<B> number(B& b, typename B::V x) {
  return {b, math::cast(b, x, DType::Float64)};
}
template <class B>
Val<B> isSet(B& b, typename B::V flag) {
  return ne(Val(b, flag), 0);
}
/// A float64 number in the dtype of x.
template <class B>
Val<B> in(const Val<B>& x, const Val<B>& n) {
  return x.with(math::cast(*x.b, n.v, x.dtype()));
}
/// The gradient with its sign chosen and the decay of the parameter added.
template <class B>
Val<B> decayed(const Val<B>& grad, const Val<B>& param, const Val<B>& decay, const Val<B>& maximize) {
  return fma(param, in(param, decay), grad * in(grad, select(maximize, decay.cst(-1), 1)));
}

/// buffer' = momentum buffer + (1 - dampening) grad, and the direction to go.
template <class B>
struct Sgd {
  Val<B> buffer, direction;
};
template <class B>
Sgd<B> sgd(B& b, typename B::V param, typename B::V grad, typename B::V buffer, typename B::V momentum,
           typename B::V dampening, typename B::V weightDecay, typename B::V nesterov, typename B::V maximize) {
  Val<B> g = decayed(Val(b, grad), Val(b, param), number(b, weightDecay), isSet(b, maximize)), m = number(b, momentum);
  Val<B> mg = in(g, m), next = fma(mg, Val(b, buffer), g * in(g, 1 - number(b, dampening)));
  // Without momentum the buffer is the gradient: dampening has no say, nor what the old buffer held.
  next = select(eq(m, 0), g, next);
  return {next, select(isSet(b, nesterov), fma(mg, next, g), next)};
}

template <class B>
Val<B> adamGradient(B& b, typename B::V param, typename B::V grad, typename B::V weightDecay, typename B::V decoupled,
                    typename B::V maximize) {
  Val<B> decay = select(isSet(b, decoupled), 0, number(b, weightDecay));
  return decayed(Val(b, grad), Val(b, param), decay, isSet(b, maximize));
}
template <class B>
Val<B> firstMoment(const Val<B>& m, const Val<B>& g, const Val<B>& beta1) {
  return fma(g - m, in(g, 1 - beta1), m);
}
template <class B>
Val<B> secondMoment(const Val<B>& v, const Val<B>& g, const Val<B>& beta2) {
  return fma(g * in(g, 1 - beta2), g, v * in(g, beta2));
}

}  // namespace detail

/// The parameter after a step of gradient descent. The first step has a zero buffer and, as PyTorch's, no dampening.
template <class B>
typename B::V sgd_p(B& b, typename B::V param, typename B::V grad, typename B::V buffer, typename B::V lr,
                    typename B::V momentum, typename B::V dampening, typename B::V weightDecay, typename B::V nesterov,
                    typename B::V maximize) {
  auto step = detail::sgd(b, param, grad, buffer, momentum, dampening, weightDecay, nesterov, maximize);
  detail::Val<B> p(b, param);
  return detail::fma(step.direction, detail::in(p, -detail::number(b, lr)), p).v;
}
/// Its momentum buffer.
template <class B>
typename B::V sgd_b(B& b, typename B::V param, typename B::V grad, typename B::V buffer, typename B::V /*lr*/,
                    typename B::V momentum, typename B::V dampening, typename B::V weightDecay, typename B::V nesterov,
                    typename B::V maximize) {
  return detail::sgd(b, param, grad, buffer, momentum, dampening, weightDecay, nesterov, maximize).buffer.v;
}

/// The first moment after a step of Adam.
template <class B>
typename B::V adam_m(B& b, typename B::V param, typename B::V grad, typename B::V m, typename B::V beta1,
                     typename B::V weightDecay, typename B::V decoupled, typename B::V maximize) {
  auto g = detail::adamGradient(b, param, grad, weightDecay, decoupled, maximize);
  return detail::firstMoment(detail::Val(b, m), g, detail::number(b, beta1)).v;
}
/// The second moment.
template <class B>
typename B::V adam_v(B& b, typename B::V param, typename B::V grad, typename B::V v, typename B::V beta2,
                     typename B::V weightDecay, typename B::V decoupled, typename B::V maximize) {
  auto g = detail::adamGradient(b, param, grad, weightDecay, decoupled, maximize);
  return detail::secondMoment(detail::Val(b, v), g, detail::number(b, beta2)).v;
}
/// The parameter; `step` counts this step too (1 at the first), m and v are the moments before it.
template <class B>
typename B::V adam_p(B& b, typename B::V param, typename B::V grad, typename B::V m, typename B::V v,
                     typename B::V step, typename B::V lr, typename B::V beta1, typename B::V beta2, typename B::V eps,
                     typename B::V weightDecay, typename B::V decoupled, typename B::V maximize) {
  using detail::in;
  using detail::number;
  auto g = detail::adamGradient(b, param, grad, weightDecay, decoupled, maximize);
  detail::Val<B> b1 = number(b, beta1), b2 = number(b, beta2), t = number(b, step), rate = number(b, lr);
  detail::Val<B> correction1 = 1 - detail::powOf64(b1, t), correction2 = detail::sqrt(1 - detail::powOf64(b2, t));
  auto decay = detail::select(detail::isSet(b, decoupled), number(b, weightDecay), 0);
  auto p = detail::Val(b, param) * in(g, 1 - rate * decay);
  auto m1 = detail::firstMoment(detail::Val(b, m), g, b1), v1 = detail::secondMoment(detail::Val(b, v), g, b2);
  auto denominator = detail::sqrt(v1) / in(g, correction2) + in(g, number(b, eps));
  return detail::fma(m1 / denominator, in(g, -(rate / correction1)), p).v;
}

}  // namespace tandem::math
