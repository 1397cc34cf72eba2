#include "codegen/cpu/reduction.h"

#include "codegen/math/product.h"
#include "runtime/base/error.h"

namespace tandem::codegen {

Val Reduction::identity(VectorBuilder& b, std::int64_t length) const {
  if (isIntegral()) return {b.intConstant(b.registerType(type()), length, identityBits()), type()};
  return b.constant(type(), length, identityValue());
}

Val Reduction::ofNothing(VectorBuilder& b) const {
  return isIntegral() ? identity(b, 0) : b.constant(type(), 0, valueOfNothing());
}

Val Reduction::accumulate(VectorBuilder& b, Val accumulator, Val next) const {
  if (!isProduct() || isIntegral()) return combine(b, accumulator, next);
  return b.ifAnyElse(
      math::is_tiny(b, accumulator), [&] { return math::product_of_tiny(b, accumulator, next); },
      [&] { return combine(b, accumulator, next); });
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
  return strcat("tandem_", of, "_", name(), "_", dtypeName(type()));
}

}  // namespace tandem::codegen
