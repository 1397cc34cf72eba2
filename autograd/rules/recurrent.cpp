// The derivative of a recurrent layer: back through its steps, one product a step for the state before it; the weights'
// gradients are one product each over all steps.
#include "eager/composites/recurrent.h"

#include <algorithm>
#include <array>
#include <vector>

#include "autograd/rule_context.h"
#include "autograd/rules/rules.h"
#include "eager/ops.h"
#include "eager/recorder.h"

namespace tandem::rules {
namespace {

using ops::Recurrence;

/// a + b, where either may be undefined.
Tensor plus(const Tensor& a, const Tensor& b) { return !a.defined() ? b : !b.defined() ? a : ops::add(a, b); }

/// `g` plus `carried`, which has as many rows or fewer.
Tensor plusCarried(const Tensor& g, const Tensor& carried, DimsRef shape) {
  if (!g.defined() && !carried.defined()) return {};
  if (!carried.defined() || carried.size(0) == shape[0]) return plus(g, carried);
  std::int64_t known = carried.size(0);
  std::int64_t rest = shape[0] - known;
  const std::array<Tensor, 2> parts{plus(g.defined() ? ops::narrow(g, 0, 0, known) : Tensor(), carried),
                                    g.defined() ? ops::narrow(g, 0, known, rest)
                                                : ops::zeros(Dims{rest, shape[1]}, carried.dtype())};
  return ops::cat(parts, 0);
}

/// s (1 - s), the derivative of a sigmoid by its value.
Tensor sigmoidSlope(const Tensor& s) { return ops::mul(s, ops::sub(1, s)); }
Tensor tanhSlope(const Tensor& t) { return ops::sub(1, ops::square(t)); }

/// What one step read and made.
struct Step {
  Tensor gates, product, hidden, cell, nextCell, output;
};
struct StepGrads {
  Tensor gates, product, hidden, cell;  // of the hidden state only what does not go through the product
};

StepGrads lstmGrads(const Step& s, const Tensor& dOutput, const Tensor& dNext) {
  std::int64_t width = s.cell.size(1);
  Tensor sums = ops::add(s.gates, s.product);
  auto sum = [&](std::int64_t k) { return ops::gateBlock(sums, k, width); };
  Tensor in = ops::sigmoid(sum(0));
  Tensor forget = ops::sigmoid(sum(1));
  Tensor fresh = ops::tanh(sum(2));
  Tensor out = ops::sigmoid(sum(3));
  Tensor squashed = ops::tanh(s.nextCell);
  Tensor dCell = plus(dNext, ops::mul(ops::mul(dOutput, out), tanhSlope(squashed)));
  const std::array<Tensor, 4> parts{
      ops::mul(ops::mul(dCell, fresh), sigmoidSlope(in)), ops::mul(ops::mul(dCell, s.cell), sigmoidSlope(forget)),
      ops::mul(ops::mul(dCell, in), tanhSlope(fresh)), ops::mul(ops::mul(dOutput, squashed), sigmoidSlope(out))};
  Tensor all = ops::cat(parts, 1);
  return {all, all, {}, ops::mul(dCell, forget)};
}

StepGrads gruGrads(const Step& s, const Tensor& dOutput) {
  std::int64_t width = s.hidden.size(1);
  Tensor sums = ops::add(s.gates, s.product);
  auto sum = [&](std::int64_t k) { return ops::gateBlock(sums, k, width); };
  Tensor reset = ops::sigmoid(sum(0));
  Tensor update = ops::sigmoid(sum(1));
  Tensor product = ops::gateBlock(s.product, 2, width);
  Tensor fresh = ops::tanh(ops::add(ops::gateBlock(s.gates, 2, width), ops::mul(reset, product)));
  Tensor dFresh = ops::mul(ops::mul(dOutput, ops::sub(1, update)), tanhSlope(fresh));
  Tensor dReset = ops::mul(ops::mul(dFresh, product), sigmoidSlope(reset));
  Tensor dUpdate = ops::mul(ops::mul(dOutput, ops::sub(s.hidden, fresh)), sigmoidSlope(update));
  const std::array<Tensor, 3> parts{dReset, dUpdate, dFresh};
  const std::array<Tensor, 3> through{dReset, dUpdate, ops::mul(dFresh, reset)};
  return {ops::cat(parts, 1), ops::cat(through, 1), ops::mul(dOutput, update), {}};
}

StepGrads stepGrads(Recurrence kind, const Step& s, const Tensor& dOutput, const Tensor& dNext) {
  if (kind == Recurrence::Lstm) return lstmGrads(s, dOutput, dNext);
  if (kind == Recurrence::Gru) return gruGrads(s, dOutput);
  Tensor d = kind == Recurrence::Tanh ? ops::mul(dOutput, tanhSlope(s.output))
                                      : ops::where(ops::gt(ops::add(s.gates, s.product), 0), dOutput, 0);
  return {d, d, {}, {}};
}

/// The gradient of a state: that of the step it starts, and what is left over for the initial state.
class StateGrad {
 public:
  explicit StateGrad(const ops::PackedSteps& steps) : steps_(steps) {}
  [[nodiscard]] const Tensor& carried() const { return carried_; }
  /// `g` belongs to the state that the i-th step to run started from.
  void pass(const Tensor& g, std::int64_t i) {
    std::int64_t rows = i > 0 ? std::min(g.size(0), steps_.rows(steps_.nth(i - 1))) : 0;
    if (rows < g.size(0)) initial_.push_back(ops::narrow(g, 0, rows, g.size(0) - rows));
    carried_ = rows > 0 ? ops::narrow(g, 0, 0, rows) : Tensor();
  }
  [[nodiscard]] Tensor initial() const {
    if (initial_.size() == 1) return initial_[0];
    return ops::cat(std::vector<Tensor>(initial_.rbegin(), initial_.rend()), 0);
  }

 private:
  const ops::PackedSteps& steps_;
  Tensor carried_;
  std::vector<Tensor> initial_;
};

}  // namespace

// Operands (gates, hidden, cell, weight, bias, projection); results (states, cells, products, outputs).
void recurrentSequence(RuleContext& c) {
  AttrReader attrs = c.attrs();
  DimsRef sizes = attrs.list();
  auto kind = static_cast<Recurrence>(attrs.integer());
  ops::PackedSteps steps(sizes, attrs.boolean());
  bool hasCell = c.isTensor(2);
  bool projects = c.isTensor(5);
  auto at = [&](const Tensor& all, std::int64_t t) { return all.defined() ? steps.at(all, t) : Tensor(); };

  auto count = static_cast<std::size_t>(steps.count());
  std::vector<Tensor> dGates(count);
  std::vector<Tensor> dProducts(count);
  std::vector<Tensor> dStates(projects ? count : 0);
  StateGrad dHidden(steps);
  StateGrad dCell(steps);
  bool split = kind == Recurrence::Gru || c.hasGrad(2);
  for (std::int64_t i = steps.count() - 1; i >= 0; --i) {
    std::int64_t t = steps.nth(i);
    Step s{steps.at(c.input(0), t),
           steps.at(c.output(2), t),
           steps.startFrom(c.output(0), c.input(1), t),
           {},
           {},
           steps.at(projects ? c.output(3) : c.output(0), t)};
    if (hasCell) {
      s.cell = steps.startFrom(c.output(1), c.input(2), t);
      s.nextCell = steps.at(c.output(1), t);
    }
    StepGrads d;
    {
      std::optional<FusedScope> fused;
      if (!projects) fused.emplace(s.output);
      DimsRef shape = s.output.shape();
      Tensor dOutput;
      if (projects) {
        Dims narrow{shape[0], c.resultShape(0)[1]};
        dStates[t] = plusCarried(at(c.grad(0), t), dHidden.carried(), narrow);
        if (!dStates[t].defined()) dStates[t] = ops::zeros(narrow, s.product.dtype());
        dOutput = plus(ops::matmul(dStates[t], c.input(5)), at(c.grad(3), t));
        fused.emplace(s.output);
      } else {
        dOutput = plusCarried(at(c.grad(0), t), dHidden.carried(), shape);
        if (!dOutput.defined()) dOutput = ops::zeros(shape, s.product.dtype());
      }
      d = stepGrads(kind, s, dOutput, hasCell ? plusCarried(at(c.grad(1), t), dCell.carried(), shape) : Tensor());
      d.product = plus(d.product, at(c.grad(2), t));
    }
    dGates[t] = d.gates;
    dProducts[t] = d.product;
    if (i > 0 || c.needs(1)) dHidden.pass(plus(ops::matmul(d.product, c.input(3)), d.hidden), i);
    if (hasCell) dCell.pass(d.cell, i);
  }

  Tensor gates = ops::cat(dGates, 0);
  Tensor products = split ? ops::cat(dProducts, 0) : gates;
  if (c.needs(0)) c.set(0, gates);
  if (c.needs(1)) c.set(1, dHidden.initial());
  if (c.needs(2)) c.set(2, dCell.initial());
  if (c.needs(3)) c.set(3, ops::matmul(ops::transpose(products, 0, 1), steps.starts(c.output(0), c.input(1))));
  if (c.needs(4)) c.set(4, ops::sum(products, Dims{0}));
  if (c.needs(5)) c.set(5, ops::matmul(ops::transpose(ops::cat(dStates, 0), 0, 1), c.output(3)));
}

}  // namespace tandem::rules
