#include "eager/apply_steps.h"

#include "eager/generator.h"
#include "eager/helpers.h"
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

Operands checkedPair(const OpFacts& f, Operands operands, std::array<Operand, 2>& own, Tensor& divisor) {
  const Operand& by = operands[1];
  if (f.partial == OpPartial::Exponent) {
    if (!by.isTensor() && by.scalar().asInt() < 0) fail("Integers to negative integer powers are not allowed.");
    return operands;
  }
  if (!by.isTensor()) {
    if (by.scalar().asInt() == 0) fail("ZeroDivisionError: an integer is divided by zero");
    return operands;
  }
  divisor = ops::expected(by.tensor(), ops::ne(by, 0), Expectation::NonZeroDivisor);
  own = {operands[0], Operand(divisor)};
  return own;
}

}  // namespace tandem
