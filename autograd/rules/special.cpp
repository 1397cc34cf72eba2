// Derivatives of the incomplete Gamma functions, of zeta and of triangular factorisations.
#include <vector>

#include "autograd/rule_context.h"
#include "autograd/rules/rules.h"
#include "eager/helpers.h"
#include "eager/ops.h"

namespace tandem::rules {
namespace {

/// x^(a - 1) e^-x / Gamma(a).
Tensor gammaDensity(const Tensor& a, const Tensor& x) {
  Tensor power = ops::where(ops::eq(a, 1), 0.0, ops::mul(ops::sub(a, 1), ops::log(x)));
  return ops::exp(ops::sub(ops::sub(power, x), ops::lgamma(a)));
}

/// The derivative of the density in `a`, `order` times, divided by the density: the complete Bell polynomial of
/// log x - digamma(a), -polygamma(1, a), -polygamma(2, a), ...
Tensor densitySlope(const Tensor& a, const Tensor& x, std::int64_t order) {
  std::vector<Tensor> bell{ops::ones_like(a, {})};
  std::vector<Tensor> cumulants{ops::sub(ops::log(x), ops::digamma(a))};
  for (std::int64_t k = 1; k < order; ++k) cumulants.push_back(ops::neg(ops::polygamma(k, a)));
  for (std::int64_t m = 0; m < order; ++m) {
    Tensor next;
    double binomial = 1;
    for (std::int64_t i = 0; i <= m; ++i) {
      Tensor term = ops::mul(ops::mul(bell[m - i], cumulants[i]), binomial);
      next = next.defined() ? ops::add(next, term) : term;
      binomial *= static_cast<double>(m - i) / static_cast<double>(i + 1);
    }
    bell.push_back(next);
  }
  return bell[order];
}

/// A matrix of weights by place: `below`, `on` and `above` the diagonal.
Tensor byDiagonal(const Tensor& like, double below, double on, double above) {
  Tensor i = ops::arange(0, like.size(-2), 1, {});
  Tensor j = ops::arange(0, like.size(-1), 1, {});
  Tensor row = ops::unsqueeze(i, 1);
  Tensor weights = ops::where(ops::gt(row, j), below, ops::where(ops::eq(row, j), on, above));
  return ops::to(weights, like.dtype());
}
Tensor transposed(const Tensor& x) { return ops::transpose(x, -2, -1); }

}  // namespace

void zeta(RuleContext& c) {
  const Tensor& x = c.input(0);
  const Tensor& q = c.input(1);
  if (c.needs(0)) fail<NotImplementedError>("special.zeta: the derivative for 'input' is not implemented");
  if (c.needs(1)) c.set(1, ops::mul(c.grad(), ops::neg(ops::mul(x, ops::zeta_plain(ops::add(x, 1), q)))));
}

void gammainc(RuleContext& c) {
  const Tensor& a = c.input(0);
  const Tensor& x = c.input(1);
  bool upper = c.attrs().integer() != 0;
  Tensor g = ops::mul(c.grad(), gammaDensity(a, x));
  if (upper) g = ops::neg(g);
  if (c.needs(0)) c.set(0, ops::mul(g, ops::gamma_cdf_slope_plain(a, x, 1)));
  if (c.needs(1)) c.set(1, g);
}

// With p the density and G = (d/da)^n P / p: dG/da = G' - G (log x - digamma a), G' of order n + 1;
// dG/dx = (d/da)^n p / p - G ((a - 1) / x - 1).
void gammaCdfSlope(RuleContext& c) {
  const Tensor& a = c.input(0);
  const Tensor& x = c.input(1);
  const Tensor& out = c.output(0);
  std::int64_t order = c.attrs().integer();
  if (c.needs(0)) {
    Tensor next = ops::gamma_cdf_slope_plain(a, x, order + 1);
    c.set(0, ops::mul(c.grad(), ops::sub(next, ops::mul(out, ops::sub(ops::log(x), ops::digamma(a))))));
  }
  if (c.needs(1)) {
    Tensor drift = ops::sub(ops::div(ops::sub(a, 1), x), 1);
    c.set(1, ops::mul(c.grad(), ops::sub(densitySlope(a, x, order), ops::mul(out, drift))));
  }
}

// Murray, "Differentiation of the Cholesky decomposition", 2016: symmetrised L^-T Phi(L^T g) L^-1, Phi the lower
// triangle with half the diagonal.
void cholesky(RuleContext& c) {
  const Tensor& l = c.output(0);
  Tensor phi = ops::mul(ops::matmul(transposed(l), c.grad()), byDiagonal(l, 1, 0.5, 0));
  Tensor upper = transposed(l);
  Tensor left = ops::triangular_solve_plain(upper, phi, true, false);
  Tensor both = ops::triangular_solve_plain(upper, transposed(left), true, false);
  c.set(0, ops::mul(ops::add(both, transposed(both)), 0.5));
}

void triangularSolve(RuleContext& c) {
  AttrReader attrs = c.attrs();
  bool upper = attrs.integer() != 0;
  bool unit = attrs.integer() != 0;
  Tensor other = ops::triangular_solve_plain(transposed(c.input(0)), c.grad(), !upper, unit);
  if (c.needs(1)) c.set(1, other);
  if (!c.needs(0)) return;
  Tensor full = ops::neg(ops::matmul(other, transposed(c.output(0))));
  c.set(0, ops::mul(full, byDiagonal(full, upper ? 0 : 1, unit ? 0 : 1, upper ? 1 : 0)));
}

}  // namespace tandem::rules
