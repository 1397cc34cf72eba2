#include "eager/apply_steps.h"

#include "eager/generator.h"
#include "eager/helpers.h"
#include "eager/number_range.h"
#include "eager/ops.h"

namespace tandem {

void run(const OpFacts& f, Operands operands, Attrs attrs, std::span<const Tensor> outs) {
  switch (f.kind) {
  case OpKind::Pointwise:
  case OpKind::Random:
  case OpKind::Creation:
    return runPointwise(f, operands, attrs, outs);
  case OpKind::Reduction:
    return runReduction(f, operands[0].tensor(), attrs, outs[0]);
  default:
    if (isLibrary(f.kind)) return runLibrary(f, operands, attrs, outs);
    fail<InternalError>(f.name, " is not a primitive that runs");
  }
}

std::vector<Operand> withGeneratorState(Operands operands) {
  Generator& g = scopedGenerator() != nullptr ? *scopedGenerator() : defaultGenerator();
  std::vector<Operand> all{Operand(g.seed()), Operand(g.next())};
  all.insert(all.end(), operands.begin(), operands.end());
  return all;
}

namespace {

/// Is `number` 0 in the integer dtype, of which it is taken modulo the number of its values?
bool isZeroIn(DType dtype, const Scalar& number) {
  const std::int64_t values = itemSize(dtype) < 8 ? std::int64_t{1} << (8 * itemSize(dtype)) : 0;
  return values == 0 ? number.asInt() == 0 : number.asInt() % values == 0;
}

}  // namespace

Operands checkedOperands(const OpFacts& f, const TensorMeta& result, Operands operands, std::array<Operand, 2>& own,
                         Tensor& divisor) {
  if (f.partial == OpPartial::Choice) {
    for (const Operand& o : operands.subspan(1))
      if (!o.isTensor()) needHeld(f.name, result.dtype, o.scalar());
    return operands;
  }
  const Operand& by = operands[1];
  if (f.partial == OpPartial::Exponent) {
    if (by.isTensor()) return operands;
    if (by.scalar().asInt() < 0) fail("Integers to negative integer powers are not allowed.");
    needHeld(f.name, result.dtype, by.scalar());
    return operands;
  }
  if (numelOf(result.shape) == 0) return operands;
  if (!by.isTensor()) {
    if (isZeroIn(result.dtype, by.scalar()))
      fail("ZeroDivisionError: an integer is divided by zero",
           by.scalar().asInt() == 0 ? "" : strcat(", as ", by.scalar().asInt(), " is in ", dtypeName(result.dtype)));
    return operands;
  }
  divisor = ops::expected(by.tensor(), ops::ne(by, 0), Expectation::NonZeroDivisor);
  own = {operands[0], Operand(divisor)};
  return own;
}

}  // namespace tandem
