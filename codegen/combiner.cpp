#include "codegen/combiner.h"

#include <limits>

#include "ir/schema/op_code.h"
#include "runtime/base/error.h"

namespace tandem::codegen {

namespace {

// Any and All are the maximum and minimum of 0 and 1, and so are sum and product of bools.
Combine canonical(Combine c, DType accumulator) {
  if (c == Combine::Any) return Combine::Max;
  if (c == Combine::All) return Combine::Min;
  if (accumulator == DType::Bool && c == Combine::Sum) return Combine::Max;
  if (accumulator == DType::Bool && c == Combine::Prod) return Combine::Min;
  return c;
}

std::uint64_t extremeInteger(DType t, bool largest) {
  const int width = static_cast<int>(itemSize(t)) * 8;
  if (!isSigned(t)) return largest ? (std::uint64_t{1} << width) - 1 : 0;
  const std::uint64_t sign = std::uint64_t{1} << (width - 1);
  return largest ? sign - 1 : sign;
}

}  // namespace

Combine combinerOf(OpCode op) {
  switch (op) {
#include "codegen/combiners.inc"
  default:
    fail<InternalError>("operation ", static_cast<int>(op), " is no reduction");
  }
}

Combiner::Combiner(Combine combine, DType accumulator)
    : combine_(canonical(combine, accumulator)), logical_(accumulator),
      type_(accumulator == DType::Bool ? DType::UInt8 : accumulator) {
  TANDEM_CHECK(!isHalf(accumulator), "a reduction accumulates in ", dtypeName(accumulator));
}

std::uint64_t Combiner::identityBits() const {
  if (combine_ == Combine::Sum) return 0;
  if (combine_ == Combine::Prod) return 1;
  return extremeInteger(type_, combine_ == Combine::Min);
}

double Combiner::identityValue() const {
  if (combine_ == Combine::Sum) return -0.0;
  if (combine_ == Combine::Prod) return 1.0;
  const double infinity = std::numeric_limits<double>::infinity();
  return combine_ == Combine::Min ? infinity : -infinity;
}

double Combiner::valueOfNothing() const { return combine_ == Combine::Sum ? 0.0 : identityValue(); }

const char* Combiner::name() const {
  static constexpr const char* kNames[] = {"sum", "prod", "max", "min"};
  return kNames[static_cast<int>(combine_)];
}

}  // namespace tandem::codegen
