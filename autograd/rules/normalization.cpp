// The derivatives of batch_norm, group_norm and layer_norm: the input is read as it is, with the means and the rates by
// which it was scaled. The sums over a group are those of its channels (Wu and He 2018).
#include <optional>
#include <utility>

#include "autograd/rule_context.h"
#include "autograd/rules/rules.h"
#include "eager/fusion.h"
#include "eager/half_types.h"
#include "eager/memory_format.h"
#include "eager/ops.h"
#include "eager/recorder.h"

namespace tandem::rules {
namespace {

/// What is normalised: operand 0, by centres and rates, which are results 1 and 2 of one number for `count` elements.
class Normal {
 public:
  Normal(RuleContext& c, std::int64_t count, const Tensor& centres, const Tensor& rates)
      : c_(c), count_(count), rates_(rates), elements_(ops::mul(ops::sub(ops::widened(c.input(0)), centres), rates)) {}
  [[nodiscard]] const Tensor& elements() const { return elements_; }

  /// Adds the gradient by way of the elements, where there is one: their cotangents `g`, and the means of those and of
  /// their products with the elements.
  void add(const Tensor& g, const Tensor& mean, const Tensor& slope) {
    plus(ops::mul(ops::sub(ops::sub(g, mean), ops::mul(elements_, slope)), rates_));
  }
  /// Sets the gradient, with what comes by way of the means and the rates, which gradients of a higher order read.
  void set() {
    if (c_.hasGrad(1)) plus(ops::div(c_.grad(1), count_));
    if (c_.hasGrad(2)) plus(ops::mul(elements_, ops::div(ops::mul(c_.grad(2), ops::square(c_.output(2))), -count_)));
    if (into_.defined()) c_.set(0, ops::toDType(into_, c_.inputDType(0)));
  }

 private:
  void plus(const Tensor& more) { into_ = into_.defined() ? ops::add(into_, more) : more; }

  RuleContext& c_;
  std::int64_t count_;
  Tensor rates_, elements_, into_;
};

/// Of factors of channels, each of which counts for the elements along `dims`: what is normalised together are those
/// along `groups` as well, and `samples` have the same factors.
void channelNorm(RuleContext& c, DimsRef dims, DimsRef samples, DimsRef groups) {
  std::int64_t count = 1;
  for (const DimsRef& along : {dims, groups})
    for (const std::int64_t d : along) count *= c.inputShape(0)[d];
  const Tensor x = c.input(0);
  // What is reduced is computed by itself where the dims lie in another order; not where that is differentiated in
  // turn, so that the sums of cotangents are those of any layout.
  const bool turned = !isInRowMajorOrder(x) && !gradEnabled();
  // Of groups of channels that lie beside each other, what each group has one number of is brought to its channels
  // between two programs.
  const bool beside = turned && !groups.empty() && activeRecorder == nullptr;
  auto forElements = [&](const Tensor& v) { return beside ? ofEachChannel(v, x) : v; };
  const Tensor centres = forElements(c.output(1)), rates = forElements(c.output(2));
  auto sumOver = [](const Tensor& t, DimsRef over, bool keep) { return over.empty() ? t : ops::sum(t, over, keep); };
  auto scaled = [&](const Tensor& t) { return c.isTensor(1) ? ops::mul(t, ops::widened(c.input(1))) : t; };
  std::optional<FusedScope> fused(std::in_place, x);
  std::optional<Normal> normal;
  if (!turned) normal.emplace(c, count, centres, rates);
  Tensor sums, products;
  if (c.hasGrad(0)) {
    const RowMajorResults reduced(turned);
    const Normal read = normal ? *normal : Normal(c, count, centres, rates);
    const Tensor g = ops::widened(c.grad(0));
    sums = ops::sum(g, dims, true);
    products = ops::sum(ops::mul(g, read.elements()), dims, true);
    if (c.needs(1)) c.set(1, sumOver(products, samples, false));
    if (c.needs(2)) c.set(2, sumOver(sums, samples, false));
  }
  if (!c.needs(0)) return;
  if (c.hasGrad(0)) {
    sums = ops::div(sumOver(scaled(sums), groups, true), count);
    products = ops::div(sumOver(scaled(products), groups, true), count);
  }
  if (beside) {
    fused.reset();
    if (c.hasGrad(0)) {
      sums = ofEachChannel(sums, x);
      products = ofEachChannel(products, x);
    }
    fused.emplace(x);
  }
  if (turned) normal.emplace(c, count, centres, rates);
  if (c.hasGrad(0)) normal->add(scaled(ops::widened(c.grad(0))), sums, products);
  normal->set();
}

}  // namespace

void batchNorm(RuleContext& c) {
  Dims dims{0};
  for (std::size_t d = 2; d < c.inputShape(0).size(); ++d) dims.push_back(static_cast<std::int64_t>(d));
  channelNorm(c, dims, {}, {});
}

void groupNorm(RuleContext& c) { channelNorm(c, Dims{3}, Dims{0}, Dims{2}); }

void layerNorm(RuleContext& c) {
  const FusedScope fused(c.input(0));
  const DimsRef shape = c.inputShape(0);
  const auto kept = static_cast<std::int64_t>(shape.size()) - c.attrs().integer();
  Dims rows, dims;
  for (std::int64_t d = 0; d < static_cast<std::int64_t>(shape.size()); ++d) (d < kept ? rows : dims).push_back(d);
  const std::int64_t count = numelOf(shape.subspan(static_cast<std::size_t>(kept)));
  Normal normal(c, count, c.output(1), c.output(2));
  if (c.hasGrad(0)) {
    Tensor g = ops::widened(c.grad(0));
    auto overRows = [&](const Tensor& x) { return rows.empty() ? x : ops::sum(x, rows); };
    if (c.needs(1)) c.set(1, overRows(ops::mul(g, normal.elements())));
    if (c.needs(2)) c.set(2, overRows(g));
    if (c.needs(0)) {
      if (c.isTensor(1)) g = ops::mul(g, ops::widened(c.input(1)));
      normal.add(g, ops::div(ops::sum(g, dims, true), count),
                 ops::div(ops::sum(ops::mul(g, normal.elements()), dims, true), count));
    }
  }
  if (c.needs(0)) normal.set();
}

}  // namespace tandem::rules
