// The derivative of group_norm: its input is read as it is, with the means and the rates by which it was scaled, and
// the sums over a group are those of its channels (Wu and He 2018).
#include "autograd/rule_context.h"
#include "autograd/rules/rules.h"
#include "eager/fusion.h"
#include "eager/half_types.h"
#include "eager/ops.h"

namespace tandem::rules {

void groupNorm(RuleContext& c) {
  const FusedScope fused(c.input(0));
  const DimsRef shape = c.inputShape(0);
  const std::int64_t count = shape[2] * shape[3];
  const Tensor& rates = c.output(2);
  const Tensor normal = ops::mul(ops::sub(ops::widened(c.input(0)), c.output(1)), rates);
  Tensor into;
  if (c.hasGrad(0)) {
    Tensor g = ops::widened(c.grad(0));
    Tensor sums = ops::sum(g, Dims{3}, true);
    Tensor products = ops::sum(ops::mul(g, normal), Dims{3}, true);
    if (c.needs(1)) c.set(1, ops::sum(products, Dims{0}));
    if (c.needs(2)) c.set(2, ops::sum(sums, Dims{0}));
    if (c.needs(0)) {
      if (c.isTensor(1)) {
        const Tensor weight = ops::widened(c.input(1));
        g = ops::mul(g, weight);
        sums = ops::mul(sums, weight);
        products = ops::mul(products, weight);
      }
      const Tensor mean = ops::div(ops::sum(sums, Dims{2}, true), count);
      const Tensor slope = ops::div(ops::sum(products, Dims{2}, true), count);
      into = ops::mul(ops::sub(ops::sub(g, mean), ops::mul(normal, slope)), rates);
    }
  }
  if (!c.needs(0)) return;
  // Of the means and the rates, which gradients of a higher order read.
  auto plus = [&](const Tensor& more) { into = into.defined() ? ops::add(into, more) : more; };
  if (c.hasGrad(1)) plus(ops::div(c.grad(1), count));
  if (c.hasGrad(2)) plus(ops::mul(normal, ops::div(ops::mul(c.grad(2), ops::square(rates)), -count)));
  if (into.defined()) c.set(0, ops::to(into, c.inputDType(0)));
}

}  // namespace tandem::rules
