// The derivative of a recurrent layer: back through its steps, one product a step for the state before it; the weights'
// gradients are one product each over all steps. The pointwise part of a step is one pass; where it is itself
// differentiated, operations that say the same.
#include "eager/composites/recurrent.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "autograd/rule_context.h"
#include "autograd/rules/rules.h"
#include "eager/fusion.h"
#include "eager/ops.h"

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
  Tensor gates, hidden, cell, nextCell, output;
};
/// What is known of its gradients: of the gates only where the results' own derivatives are differentiated.
struct Given {
  Tensor output, nextCell, gates;
};
struct StepGrads {
  Tensor gates, product, hidden, cell;  // of the hidden state only what does not go through the product
};

StepGrads lstmGrads(const Step& s, const Given& d) {
  std::int64_t width = s.cell.size(1);
  auto gate = [&](std::int64_t k) { return ops::gateBlock(s.gates, k, width); };
  auto given = [&](const Tensor& g, std::int64_t k) {
    return plus(g, d.gates.defined() ? ops::gateBlock(d.gates, k, width) : Tensor());
  };
  Tensor squashed = ops::tanh(s.nextCell);
  Tensor total = ops::add(d.nextCell, ops::mul(ops::mul(d.output, gate(3)), tanhSlope(squashed)));
  const std::array<Tensor, 4> parts{ops::mul(given(ops::mul(total, gate(2)), 0), sigmoidSlope(gate(0))),
                                    ops::mul(given(ops::mul(total, s.cell), 1), sigmoidSlope(gate(1))),
                                    ops::mul(given(ops::mul(total, gate(0)), 2), tanhSlope(gate(2))),
                                    ops::mul(given(ops::mul(d.output, squashed), 3), sigmoidSlope(gate(3)))};
  Tensor all = ops::cat(parts, 1);
  return {all, all, {}, ops::mul(total, gate(1))};
}

StepGrads gruGrads(const Step& s, const Given& d) {
  std::int64_t width = s.hidden.size(1);
  auto gate = [&](std::int64_t k) { return ops::gateBlock(s.gates, k, width); };
  auto given = [&](const Tensor& g, std::int64_t k) {
    return plus(g, d.gates.defined() ? ops::gateBlock(d.gates, k, width) : Tensor());
  };
  Tensor fresh = ops::mul(given(ops::mul(d.output, ops::sub(1, gate(1))), 2), tanhSlope(gate(2)));
  Tensor reset = ops::mul(given(ops::mul(fresh, gate(3)), 0), sigmoidSlope(gate(0)));
  Tensor update = ops::mul(given(ops::mul(d.output, ops::sub(s.hidden, gate(2))), 1), sigmoidSlope(gate(1)));
  const std::array<Tensor, 3> parts{reset, update, fresh};
  const std::array<Tensor, 3> through{reset, update, given(ops::mul(fresh, gate(0)), 3)};
  return {ops::cat(parts, 1), ops::cat(through, 1), ops::mul(d.output, gate(1)), {}};
}

StepGrads plainGrads(Recurrence kind, const Step& s, const Given& d) {
  Tensor sum = kind == Recurrence::Tanh ? ops::mul(d.output, tanhSlope(s.output))
                                        : ops::where(ops::gt(s.output, 0), d.output, 0);
  return {sum, sum, {}, {}};
}

/// The gradients of all steps, step by step.
class StepRules {
 public:
  /// `sources`: what the steps read.
  StepRules(Recurrence kind, const ops::PackedSteps& steps, std::int64_t width, std::span<const Tensor> sources,
            bool differentiated)
      : kind_(kind) {
    if (kind == Recurrence::Lstm && !differentiated)
      passes_.emplace(OpCode::lstm_step_grad, steps, std::initializer_list<std::int64_t>{0, 0, 0, 0, -1}, width,
                      sources);
    if (kind == Recurrence::Gru && !differentiated)
      passes_.emplace(OpCode::gru_step_grad, steps, std::initializer_list<std::int64_t>{0, 0, 0, 1, 1, 1, -1}, width,
                      sources);
    if (passes_) return;
    gates_.resize(steps.count());
    products_.resize(kind == Recurrence::Gru ? steps.count() : 0);
  }

  StepGrads run(std::int64_t t, const Step& s, const Given& d);
  [[nodiscard]] Tensor gates() const { return passes_ ? passes_->all(0) : ops::cat(gates_, 0); }
  [[nodiscard]] Tensor products() const { return passes_ ? passes_->all(1) : ops::cat(products_, 0); }

 private:
  Recurrence kind_;
  std::optional<ops::StepResults> passes_;
  std::vector<Tensor> gates_, products_;
};

StepGrads StepRules::run(std::int64_t t, const Step& s, const Given& d) {
  if (passes_ && kind_ == Recurrence::Lstm) {
    std::int64_t width = s.cell.size(1);
    auto gate = [&](std::int64_t k) { return ops::gateBlock(s.gates, k, width); };
    Tensor cell = passes_->run(t, {gate(0), gate(1), gate(2), gate(3), s.cell, s.nextCell, d.output, d.nextCell})[4];
    return {{}, passes_->at(0, t), {}, cell};
  }
  if (passes_) {
    std::int64_t width = s.hidden.size(1);
    auto gate = [&](std::int64_t k) { return ops::gateBlock(s.gates, k, width); };
    Tensor hidden = passes_->run(t, {gate(0), gate(1), gate(2), gate(3), s.hidden, d.output})[6];
    return {{}, passes_->at(1, t), hidden, {}};
  }
  FusedScope fused(s.output);
  StepGrads grads = kind_ == Recurrence::Lstm  ? lstmGrads(s, d)
                    : kind_ == Recurrence::Gru ? gruGrads(s, d)
                                               : plainGrads(kind_, s, d);
  gates_[t] = grads.gates;
  if (!products_.empty()) products_[t] = grads.product;
  return grads;
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

  bool differentiated = gradEnabled() || c.hasGrad(2);
  std::vector<Tensor> sources{c.input(3), c.output(0)};
  for (int i = 0; i < 4; ++i)
    if (c.hasGrad(i)) sources.push_back(c.grad(i));
  DType dtype = c.resultDType(0);
  std::int64_t width = c.inputShape(0)[1] / ops::gateCount(kind);
  StepRules rules(kind, steps, width, sources, differentiated);
  ops::StepProduct packed(c.input(3), steps);
  auto product = [&](const Tensor& x) { return differentiated ? ops::matmul(x, c.input(3)) : packed(x); };

  std::vector<Tensor> dStates(projects ? steps.count() : 0);
  StateGrad dHidden(steps);
  StateGrad dCell(steps);
  for (std::int64_t i = steps.count() - 1; i >= 0; --i) {
    std::int64_t t = steps.nth(i);
    Step s{kind == Recurrence::Lstm || kind == Recurrence::Gru ? steps.at(c.output(2), t) : Tensor(),
           steps.startFrom(c.output(0), c.input(1), t),
           {},
           {},
           steps.at(projects ? c.output(3) : c.output(0), t)};
    Given d{{}, {}, at(c.grad(2), t)};
    const Dims shape{steps.rows(t), width};
    if (projects) {
      const Dims narrow{shape[0], c.resultShape(0)[1]};
      dStates[t] = plusCarried(at(c.grad(0), t), dHidden.carried(), narrow);
      if (!dStates[t].defined()) dStates[t] = ops::zeros(narrow, dtype);
      d.output = plus(ops::matmul(dStates[t], c.input(5)), at(c.grad(3), t));
    } else {
      d.output = plusCarried(at(c.grad(0), t), dHidden.carried(), shape);
      if (!d.output.defined()) d.output = ops::zeros(shape, dtype);
    }
    if (hasCell) {
      s.cell = steps.startFrom(c.output(1), c.input(2), t);
      s.nextCell = steps.at(c.output(1), t);
      d.nextCell = plusCarried(at(c.grad(1), t), dCell.carried(), shape);
      if (!d.nextCell.defined()) d.nextCell = ops::zeros(shape, dtype);
    }
    StepGrads grads = rules.run(t, s, d);
    if (i > 0 || c.needs(1)) dHidden.pass(plus(product(grads.product), grads.hidden), i);
    if (hasCell) dCell.pass(grads.cell, i);
  }

  Tensor gates = rules.gates();
  Tensor products = kind == Recurrence::Gru ? rules.products() : gates;
  if (c.needs(0)) c.set(0, gates);
  if (c.needs(1)) c.set(1, dHidden.initial());
  if (c.needs(2)) c.set(2, dCell.initial());
  if (c.needs(3)) c.set(3, ops::matmul(ops::transpose(products, 0, 1), steps.starts(c.output(0), c.input(1))));
  if (c.needs(4)) c.set(4, ops::sum(products, Dims{0}));
  if (c.needs(5)) c.set(5, ops::matmul(ops::transpose(ops::cat(dStates, 0), 0, 1), c.output(3)));
}

}  // namespace tandem::rules
