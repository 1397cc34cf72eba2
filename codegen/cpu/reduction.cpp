#include "codegen/cpu/reduction.h"

#include <limits>

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

Reduction::Reduction(Combine combine, DType accumulator)
    : combine_(canonical(combine, accumulator)), logical_(accumulator),
      type_(accumulator == DType::Bool ? DType::UInt8 : accumulator) {
  TANDEM_CHECK(!isHalf(accumulator), "a reduction accumulates in ", dtypeName(accumulator));
}

Val Reduction::identity(VectorBuilder& b, std::int64_t length) const {
  auto constant = [&](double value) { return b.constant(type_, length, value); };
  const bool integral = !isFloating(type_);
  if (combine_ == Combine::Sum) return constant(integral ? 0.0 : -0.0);
  if (combine_ == Combine::Prod) return constant(1.0);
  const bool minimum = combine_ == Combine::Min;
  if (integral) return {b.intConstant(b.registerType(type_), length, extremeInteger(type_, minimum)), type_};
  const double infinity = std::numeric_limits<double>::infinity();
  return constant(minimum ? infinity : -infinity);
}

Val Reduction::ofNothing(VectorBuilder& b) const {
  const Val identity = this->identity(b, 0);
  return combine_ == Combine::Sum ? b.cst(identity, 0.0) : identity;
}

Val Reduction::combine(VectorBuilder& b, Val accumulator, Val next) const {
  switch (combine_) {
  case Combine::Sum:
    return b.add(accumulator, next);
  case Combine::Prod:
    return b.mul(accumulator, next);
  default:
    break;
  }
  // A NaN in the accumulator stays because the comparison is false, one that comes is taken in.
  const Val better = combine_ == Combine::Max ? b.gt(next, accumulator) : b.lt(next, accumulator);
  const Val chosen = b.select(better, next, accumulator);
  return isFloating(type_) ? b.select(b.ne(next, next), next, chosen) : chosen;
}

Val Reduction::halve(VectorBuilder& b, std::vector<Val> lanes) const {
  while (lanes.size() > 1) {
    const std::size_t half = lanes.size() / 2;
    for (std::size_t j = 0; j < half; ++j) lanes[j] = combine(b, lanes[j], lanes[j + half]);
    lanes.resize(half);
  }
  Val v = lanes[0];
  for (std::int64_t half = v.length() / 2; half > 1; half /= 2) {
    v = combine(b, b.slice(v, 0, half), b.slice(v, half, half));
  }
  return combine(b, b.element(v, 0), b.element(v, 1));
}

std::string Reduction::importName(const char* of) const {
  const char* const names[] = {"sum", "prod", "max", "min"};
  return strcat("tandem_", of, "_", names[static_cast<int>(combine_)], "_", dtypeName(type_));
}

}  // namespace tandem::codegen
