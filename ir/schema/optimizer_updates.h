// What one step of each optimizer does to an element of a parameter and of its state: the formulas alone, over any type
// `T` with arithmetic. The code generator makes kernels of them (codegen/math/optim.h: one pass over a parameter and
// its state); steps that are differentiated themselves evaluate them over tensors (eager/composites/optim.cpp).
//
// The order of parameters is that of the records in ir/ops/optim.td: first what the step replaces, in the order of the
// results; then the other tensors; then numbers (the count of steps, this one included, hyperparameters, flags as 0 or
// 1), which are float64 whatever the dtype of the parameter. `in(x, n)` is a number in the dtype of x.
//
// T provides + - * / < > with T and double, unary -, and by argument-dependent lookup eq, ne, select, fma, sqrt, abs,
// maximum, power(number, number) and in.
#pragma once

#include <array>

namespace tandem::updates {

/// The gradient, against its sign to climb, with the decay of the parameter added.
template <class T>
T decayed(const T& grad, const T& param, const T& decay, const T& maximize) {
  T g = grad * in(grad, 1 - 2 * maximize);
  return select(eq(decay, 0), g, fma(param, in(param, decay), g));
}
/// The parameter scaled by 1 - lr * decay where decay acts on it directly.
template <class T>
T shrunk(const T& param, const T& lr, const T& decay, const T& decoupled) {
  return param * in(param, 1 - lr * select(ne(decoupled, 0), decay, 0));
}
/// `decay` where it is added to the gradient.
template <class T>
T coupled(const T& decay, const T& decoupled) {
  return select(ne(decoupled, 0), 0, decay);
}
/// rate * mean + (1 - rate) * x, as a step from mean towards x.
template <class T>
T average(const T& mean, const T& x, const T& rate) {
  return fma(x - mean, in(x, 1 - rate), mean);
}
/// rate * mean + (1 - rate) * x^2.
template <class T>
T averageSquare(const T& mean, const T& x, const T& rate) {
  return fma(x * in(x, 1 - rate), x, mean * in(x, rate));
}
/// param - rate * direction.
template <class T>
T descend(const T& param, const T& direction, const T& rate) {
  return fma(direction, in(param, -rate), param);
}

/// The count of steps.
template <class T>
std::array<T, 1> count(const T& step) {
  return {step + 1};
}

/// Momentum as in Sutskever et al. 2013, with PyTorch's convention: the rate multiplies the buffer when it is used.
/// Without momentum the buffer is the gradient: dampening has no say, nor what the old buffer held.
template <class T>
std::array<T, 2> sgd(const T& param, const T& buffer, const T& grad, const T& lr, const T& momentum, const T& dampening,
                     const T& weightDecay, const T& nesterov, const T& maximize) {
  T g = decayed(grad, param, weightDecay, maximize), m = in(g, momentum);
  T next = select(eq(momentum, 0), g, fma(m, buffer, g * in(g, 1 - dampening)));
  return {descend(param, select(ne(nesterov, 0), fma(m, next, g), next), lr), next};
}

/// Kingma and Ba 2015; decoupled decay by Loshchilov and Hutter 2019; the largest second moment so far, with amsgrad,
/// by Reddi et al. 2018.
template <class T>
std::array<T, 4> adam(const T& param, const T& mean, const T& square, const T& largest, const T& grad, const T& step,
                      const T& lr, const T& beta1, const T& beta2, const T& eps, const T& weightDecay, const T& amsgrad,
                      const T& decoupled, const T& maximize) {
  T g = decayed(grad, param, coupled(weightDecay, decoupled), maximize);
  T m = average(mean, g, beta1), v = averageSquare(square, g, beta2);
  T most = select(ne(amsgrad, 0), maximum(largest, v), v);
  T spread = sqrt(most) / in(g, sqrt(1 - power(beta2, step))) + in(g, eps);
  T p = shrunk(param, lr, weightDecay, decoupled);
  return {descend(p, m / spread, lr / (1 - power(beta1, step))), m, v, most};
}

/// Kingma and Ba 2015, section 7.1: the largest decayed |gradient| in place of the root mean square.
template <class T>
std::array<T, 3> adamax(const T& param, const T& mean, const T& largest, const T& grad, const T& step, const T& lr,
                        const T& beta1, const T& beta2, const T& eps, const T& weightDecay, const T& maximize) {
  T g = decayed(grad, param, weightDecay, maximize);
  T m = average(mean, g, beta1), u = maximum(largest * in(g, beta2), abs(g) + in(g, eps));
  return {descend(param, m / u, lr / (1 - power(beta1, step))), m, u};
}

/// The momentum of NAdam at a step.
template <class T>
T nadamMomentum(const T& step, const T& beta1, const T& momentumDecay) {
  return beta1 * (1 - 0.5 * power(0.96, step * momentumDecay));
}
/// The product of the momenta up to this step.
template <class T>
std::array<T, 1> nadamProduct(const T& product, const T& step, const T& beta1, const T& momentumDecay) {
  return {product * in(product, nadamMomentum(step, beta1, momentumDecay))};
}
/// Dozat 2016: Adam with Nesterov's momentum. `product` is that of this step.
template <class T>
std::array<T, 3> nadam(const T& param, const T& mean, const T& square, const T& grad, const T& product, const T& step,
                       const T& lr, const T& beta1, const T& beta2, const T& eps, const T& weightDecay,
                       const T& momentumDecay, const T& decoupled, const T& maximize) {
  T g = decayed(grad, param, coupled(weightDecay, decoupled), maximize);
  T m = average(mean, g, beta1), v = averageSquare(square, g, beta2);
  T now = nadamMomentum(step, beta1, momentumDecay), next = nadamMomentum(step + 1, beta1, momentumDecay);
  T spread = sqrt(v / in(g, 1 - power(beta2, step))) + in(g, eps);
  T p = descend(shrunk(param, lr, weightDecay, decoupled), g / spread, lr * (1 - now) / (1 - product));
  return {descend(p, m / spread, lr * next / (1 - product * next)), m, v};
}

/// Liu et al. 2020: the adaptive rate is rectified, and not used at all until its variance is tractable.
template <class T>
std::array<T, 3> radam(const T& param, const T& mean, const T& square, const T& grad, const T& step, const T& lr,
                       const T& beta1, const T& beta2, const T& eps, const T& weightDecay, const T& decoupled,
                       const T& maximize) {
  T g = decayed(grad, param, coupled(weightDecay, decoupled), maximize);
  T m = average(mean, g, beta1), v = averageSquare(square, g, beta2);
  T left = power(beta2, step), limit = 2 / (1 - beta2) - 1, length = limit - 2 * step * left / (1 - left);
  T ready = length > 5, l = select(ready, length, 5);
  T rectified = sqrt((l - 4) * (l - 2) * limit / ((limit - 4) * (limit - 2) * l)) * sqrt(1 - left);
  T adaptive = in(g, rectified) / (sqrt(v) + in(g, eps)), unbiased = m / in(g, 1 - power(beta1, step));
  T p = shrunk(param, lr, weightDecay, decoupled);
  return {descend(p, select(ready, unbiased * adaptive, unbiased), lr), m, v};
}

/// Hinton 2012, lecture 6; centred by Graves 2013. A momentum of 0 keeps no buffer.
template <class T>
std::array<T, 4> rmsprop(const T& param, const T& square, const T& buffer, const T& mean, const T& grad, const T& lr,
                         const T& alpha, const T& eps, const T& weightDecay, const T& momentum, const T& centered,
                         const T& maximize) {
  T g = decayed(grad, param, weightDecay, maximize);
  T v = averageSquare(square, g, alpha), m = average(mean, g, alpha);
  T scaled = g / (sqrt(select(ne(centered, 0), fma(-m, m, v), v)) + in(g, eps));
  T next = select(eq(momentum, 0), scaled, fma(in(g, momentum), buffer, scaled));
  return {descend(param, next, lr), v, next, m};
}

/// Duchi et al. 2011.
template <class T>
std::array<T, 2> adagrad(const T& param, const T& sum, const T& grad, const T& step, const T& lr, const T& lrDecay,
                         const T& eps, const T& weightDecay, const T& maximize) {
  T g = decayed(grad, param, weightDecay, maximize), s = fma(g, g, sum);
  return {descend(param, g / (sqrt(s) + in(g, eps)), lr / (1 + (step - 1) * lrDecay)), s};
}

/// Zeiler 2012.
template <class T>
std::array<T, 3> adadelta(const T& param, const T& square, const T& steps, const T& grad, const T& lr, const T& rho,
                          const T& eps, const T& weightDecay, const T& maximize) {
  T g = decayed(grad, param, weightDecay, maximize), e = in(g, eps), v = averageSquare(square, g, rho);
  T delta = sqrt(steps + e) / sqrt(v + e) * g;
  return {descend(param, delta, lr), v, averageSquare(steps, delta, rho)};
}

/// Riedmiller and Braun 1993: only signs of gradients count. Where the sign turned, the element waits for a step.
template <class T>
std::array<T, 3> rprop(const T& param, const T& before, const T& size, const T& grad, const T& etaMinus,
                       const T& etaPlus, const T& smallest, const T& largest, const T& maximize) {
  T g = grad * in(grad, 1 - 2 * maximize), turn = g * before;
  T factor = select(turn > 0, in(g, etaPlus), select(turn < 0, in(g, etaMinus), select(eq(turn, 0), 1, turn)));
  T s = size * factor, least = in(g, smallest), most = in(g, largest);
  s = select(s < least, least, select(s > most, most, s));
  T kept = select(turn < 0, 0, g);
  T sign = select(kept > 0, 1, select(kept < 0, -1, kept));
  return {fma(-sign, s, param), kept, s};
}

/// Polyak and Juditsky 1992, with the rates of `asgdRates`: the parameter and its average.
template <class T>
std::array<T, 2> asgd(const T& param, const T& mean, const T& grad, const T& eta, const T& mu, const T& lambd,
                      const T& weightDecay, const T& maximize) {
  T g = decayed(grad, param, weightDecay, maximize);
  T p = descend(param * in(param, 1 - lambd * eta), g, eta);
  return {p, select(eq(mu, 1), p, fma(p - mean, in(p, mu), mean))};
}
/// The rates of the next step: of descent and of averaging.
template <class T>
std::array<T, 2> asgdRates(const T& eta, const T& mu, const T& step, const T& lr, const T& lambd, const T& alpha,
                           const T& t0) {
  T late = step - t0;
  return {in(eta, lr / power(1 + lambd * lr * step, alpha)), in(mu, 1 / select(late > 1, late, 1))};
}

}  // namespace tandem::updates
