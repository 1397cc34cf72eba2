#include "autograd/rule_context.h"
#include "autograd/rules/rules.h"
#include "eager/ops.h"

namespace tandem::rules {

namespace {

/// An exponent less one, computed in float64, and the exponent itself: 0-d tensors where the value is known only when
/// a recorded program runs, numbers otherwise.
Tensor slotTensor(Scalar s) { return ops::full_plain(s, Dims{}, DType::Float64); }

/// g times the derivative of x ** e by x; `one` is e - 1.
Tensor powerRule(const Tensor& g, const Tensor& x, const Operand& e, const Operand& less) {
  return ops::mul(g, ops::mul(e, ops::pow(x, less)));
}

void powInput(RuleContext& c) {
  if (c.isTensor(1)) {
    const Tensor& e = c.input(1);
    c.set(0, ops::where(ops::eq(e, 0), 0, powerRule(c.grad(), c.input(0), e, ops::sub(e, 1))));
    return;
  }
  Scalar e = c.scalar(1);
  if (e.slot >= 0) {
    Tensor wide = slotTensor(e);
    Tensor less = ops::to(ops::sub(wide, 1), c.inputDType(0));
    c.set(0, ops::where(ops::eq(wide, 0), 0, powerRule(c.grad(), c.input(0), e, less)));
    return;
  }
  // x ** 0 is 1 even at 0, where x ** -1 is infinite.
  if (e.asDouble() == 0) return c.set(0, ops::zeros_like(c.grad()));
  Scalar less = e.isFloat() ? Scalar(e.asDouble() - 1) : Scalar(e.asInt() - 1);
  c.set(0, powerRule(c.grad(), c.input(0), e, less));
}

}  // namespace

/// Of what has no derivative in PyTorch: asking for it is an error, no silent zero.
void refused(RuleContext& c) {
  std::string_view name = facts(c.op()).name;
  if (name.ends_with("_plain")) name.remove_suffix(6);
  fail("derivative for ", name, " is not implemented");
}

/// x - floor(x / y) * y, in which the floor has slopes of 0.
void remainder(RuleContext& c) {
  if (c.needs(0)) c.set(0, c.grad());
  if (!c.needs(1)) return;
  const Operand x = c.operand(0);
  const Tensor dividend = x.isTensor() ? x.tensor() : ops::full_plain(x.scalar(), Dims{}, c.resultDType());
  c.set(1, ops::neg(ops::mul(c.grad(), ops::div_rounding(dividend, c.input(1), "floor"))));
}

/// Attributes: where to, where from.
void deviceCopy(RuleContext& c) { c.set(0, ops::device_copy(c.grad(), c.rawAttrs()[1], c.rawAttrs()[0])); }

void pow(RuleContext& c) {
  if (c.needs(0)) powInput(c);
  if (!c.needs(1)) return;
  // d/de x ** e = x ** e * log(x); 0 at x = 0 for e >= 0, where the logarithm is infinite.
  Operand x = c.operand(0);
  // A number may be one that a half type does not hold.
  const DType wide = isHalf(c.resultDType()) ? DType::Float32 : c.resultDType();
  Tensor base = x.isTensor() ? x.tensor() : ops::full_plain(x.scalar(), Dims{}, wide);
  Tensor raw = ops::mul(c.grad(), ops::mul(c.output(0), ops::log(base)));
  c.set(1, ops::where(ops::logical_and(ops::eq(base, 0), ops::ge(c.input(1), 0)), 0, raw));
}

namespace {
/// Ties share the gradient; with a NaN both get it.
void extremum(RuleContext& c, bool larger) {
  Operand a = c.operand(0);
  Operand b = c.operand(1);
  Tensor shared = ops::where(ops::eq(a, b), ops::mul(c.grad(), 0.5), c.grad());
  if (c.needs(0)) c.set(0, ops::where(larger ? ops::lt(a, b) : ops::gt(a, b), 0, shared));
  if (c.needs(1)) c.set(1, ops::where(larger ? ops::lt(b, a) : ops::gt(b, a), 0, shared));
}
}  // namespace

void maximum(RuleContext& c) { extremum(c, true); }
void minimum(RuleContext& c) { extremum(c, false); }

}  // namespace tandem::rules
