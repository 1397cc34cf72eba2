// The steps of optimizers over lists of tensors.
#include "eager/composites/optim.h"

#include <array>

#include "eager/dispatch.h"
#include "eager/helpers.h"
#include "eager/ops.h"
#include "eager/scalar_tensor.h"
#include "eager/updates.h"
#include "ir/schema/optimizer_updates.h"

namespace tandem::ops {
namespace {

/// A tensor with operators: what the formulas ask of their values.
struct Value {
  Tensor t;
};

Operand operandOf(const Value& x) { return {x.t}; }
Operand operandOf(double x) { return {x}; }

template <class X>
concept ValueOrNumber = std::is_same_v<X, Value> || std::is_arithmetic_v<X>;
template <class X, class Y>
concept ValueOperands = ValueOrNumber<X> && ValueOrNumber<Y> && (std::is_same_v<X, Value> || std::is_same_v<Y, Value>);

template <class X, class Y>
  requires ValueOperands<X, Y>
Value operator+(const X& x, const Y& y) {
  return {add(operandOf(x), operandOf(y))};
}
template <class X, class Y>
  requires ValueOperands<X, Y>
Value operator-(const X& x, const Y& y) {
  return {sub(operandOf(x), operandOf(y))};
}
template <class X, class Y>
  requires ValueOperands<X, Y>
Value operator*(const X& x, const Y& y) {
  return {mul(operandOf(x), operandOf(y))};
}
template <class X, class Y>
  requires ValueOperands<X, Y>
Value operator/(const X& x, const Y& y) {
  return {div(operandOf(x), operandOf(y))};
}
Value operator-(const Value& x) { return {neg(x.t)}; }
Value operator<(const Value& x, const auto& y) { return {lt(x.t, operandOf(y))}; }
Value operator>(const Value& x, const auto& y) { return {gt(x.t, operandOf(y))}; }
Value eq(const Value& x, double y) { return {ops::eq(x.t, y)}; }
Value ne(const Value& x, double y) { return {ops::ne(x.t, y)}; }
Value select(const Value& c, const auto& x, const auto& y) { return {where(c.t, operandOf(x), operandOf(y))}; }
Value fma(const Value& x, const Value& y, const Value& z) { return x * y + z; }
Value sqrt(const Value& x) { return {ops::sqrt(x.t)}; }
Value abs(const Value& x) { return {ops::abs(x.t)}; }
Value maximum(const Value& x, const Value& y) { return {ops::maximum(x.t, y.t)}; }
Value power(const auto& x, const Value& y) { return {pow(operandOf(x), operandOf(y))}; }
Value in(const Value& x, const Value& n) { return {toDType(n.t, x.t.dtype())}; }

Value element(const Operand& o) { return {o.tensor()}; }
Value number(const Operand& o) {
  return {o.isTensor() ? toDType(o.tensor(), DType::Float64) : mul(makeScalarTensor(1.0, DType::Float64), o)};
}

template <std::size_t n>
std::vector<Tensor> values(const std::array<Value, n>& results) {
  std::vector<Tensor> out;
  for (const auto& r : results) out.push_back(r.t);
  return out;
}

/// The results of an update as operations with history.
std::vector<Tensor> formulaOf(OpCode op, std::span<const Operand> v) {
  switch (op) {
#include "eager/updates.inc"
  default:
    fail<InternalError>(facts(op).name, " is no update");
  }
}

std::size_t countOf(std::string_view name, std::span<const UpdateOperand> operands) {
  std::size_t n = operands.front().each.size();
  for (const auto& o : operands)
    if (o.kind == UpdateOperand::Kind::Each && o.each.size() != n)
      fail<ValueError>(name, ": lists of different lengths: ", n, " and ", o.each.size());
  return n;
}

}  // namespace

void optimizerStep(OpCode op, std::span<const UpdateOperand> operands, bool differentiable) {
  using Kind = UpdateOperand::Kind;
  const OpFacts& f = facts(op);
  TANDEM_CHECK(!operands.empty() && operands.front().kind == Kind::Each, f.name);
  const std::size_t n = countOf(f.name, operands);
  // State that is not kept is read as the parameter, which the formula then does not use.
  std::size_t last = f.numResults;
  while (operands[last - 1].kind == Kind::Absent) --last;
  std::vector<Operand> row(operands.size());
  std::vector<Tensor> outs(last);
  Updates updates(op);
  for (std::size_t i = 0; i < n; ++i) {
    const Tensor& param = operands.front().each[i];
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const auto& o = operands[k];
      row[k] = o.kind == Kind::Each     ? Operand(o.each[i])
               : o.kind == Kind::Absent ? Operand(param)
               : o.tensor.defined()     ? Operand(o.tensor)
                                        : Operand(o.scalar);
      if (row[k].isTensor() && row[k].tensor().numel() != 1 && !(row[k].tensor().shape() == param.shape()))
        fail(f.name, ": parameter of shape ", shapeText(param.shape()), ", but operand ", k, " of shape ",
             shapeText(row[k].tensor().shape()));
    }
    if (differentiable) {
      // What derivatives read must outlive the writes.
      std::vector<Tensor> before;
      before.reserve(last);
      for (std::size_t k = 0; k < last; ++k)
        if (operands[k].kind == Kind::Each) row[k] = before.emplace_back(clone(operands[k].each[i]));
      for (std::size_t k = 0; k < operands.size(); ++k)
        if (operands[k].kind == Kind::Absent) row[k] = row[0];
      const std::vector<Tensor> results = formulaOf(op, row);
      for (std::size_t k = 0; k < last; ++k)
        if (operands[k].kind == Kind::Each) assign(operands[k].each[i], results[k]);
      continue;
    }
    for (std::size_t k = 0; k < last; ++k)
      if (operands[k].kind == Kind::Each) outs[k] = operands[k].each[i];
    updates.add(row, outs);
  }
  updates.run();
}

}  // namespace tandem::ops
