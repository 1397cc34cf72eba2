// The derivatives of group_norm and layer_norm: the input is read as it is, with the means and the rates by which it
// was scaled. The sums over a group are those of its channels (Wu and He 2018).
#include "autograd/rule_context.h"
#include "autograd/rules/rules.h"
#include "eager/fusion.h"
#include "eager/half_types.h"
#include "eager/ops.h"

namespace tandem::rules {
namespace {

/// What is normalised: operand 0, with results 1 and 2 of one number for `count` elements each.
class Normal {
 public:
  Normal(RuleContext& c, std::int64_t count)
      : c_(c), count_(count), elements_(ops::mul(ops::sub(ops::widened(c.input(0)), c.output(1)), c.output(2))) {}
  [[nodiscard]] const Tensor& elements() const { return elements_; }

  /// Adds the gradient by way of the elements, where there is one: their cotangents `g`, the sums of those and of their
  /// products with the elements.
  void add(const Tensor& g, const Tensor& sums, const Tensor& products) {
    const Tensor mean = ops::div(sums, count_);
    const Tensor slope = ops::div(products, count_);
    plus(ops::mul(ops::sub(ops::sub(g, mean), ops::mul(elements_, slope)), c_.output(2)));
  }
  /// Sets the gradient, with what comes by way of the means and the rates, which gradients of a higher order read.
  void set() {
    if (c_.hasGrad(1)) plus(ops::div(c_.grad(1), count_));
    if (c_.hasGrad(2)) plus(ops::mul(elements_, ops::div(ops::mul(c_.grad(2), ops::square(c_.output(2))), -count_)));
    if (into_.defined()) c_.set(0, ops::to(into_, c_.inputDType(0)));
  }

 private:
  void plus(const Tensor& more) { into_ = into_.defined() ? ops::add(into_, more) : more; }

  RuleContext& c_;
  std::int64_t count_;
  Tensor elements_, into_;
};

}  // namespace

void groupNorm(RuleContext& c) {
  const FusedScope fused(c.input(0));
  const DimsRef shape = c.inputShape(0);
  Normal normal(c, shape[2] * shape[3]);
  if (c.hasGrad(0)) {
    Tensor g = ops::widened(c.grad(0));
    Tensor sums = ops::sum(g, Dims{3}, true);
    Tensor products = ops::sum(ops::mul(g, normal.elements()), Dims{3}, true);
    if (c.needs(1)) c.set(1, ops::sum(products, Dims{0}));
    if (c.needs(2)) c.set(2, ops::sum(sums, Dims{0}));
    if (c.needs(0)) {
      if (c.isTensor(1)) {
        const Tensor weight = ops::widened(c.input(1));
        g = ops::mul(g, weight);
        sums = ops::mul(sums, weight);
        products = ops::mul(products, weight);
      }
      normal.add(g, ops::sum(sums, Dims{2}, true), ops::sum(products, Dims{2}, true));
    }
  }
  if (c.needs(0)) normal.set();
}

void layerNorm(RuleContext& c) {
  const FusedScope fused(c.input(0));
  const DimsRef shape = c.inputShape(0);
  const auto kept = static_cast<std::int64_t>(shape.size()) - c.attrs().integer();
  Dims rows, dims;
  for (std::int64_t d = 0; d < static_cast<std::int64_t>(shape.size()); ++d) (d < kept ? rows : dims).push_back(d);
  Normal normal(c, numelOf(shape.subspan(static_cast<std::size_t>(kept))));
  if (c.hasGrad(0)) {
    Tensor g = ops::widened(c.grad(0));
    auto overRows = [&](const Tensor& x) { return rows.empty() ? x : ops::sum(x, rows); };
    if (c.needs(1)) c.set(1, overRows(ops::mul(g, normal.elements())));
    if (c.needs(2)) c.set(2, overRows(g));
    if (c.needs(0)) {
      if (c.isTensor(1)) g = ops::mul(g, ops::widened(c.input(1)));
      normal.add(g, ops::sum(g, dims, true), ops::sum(ops::mul(g, normal.elements()), dims, true));
    }
  }
  if (c.needs(0)) normal.set();
}

}  // namespace tandem::rules
