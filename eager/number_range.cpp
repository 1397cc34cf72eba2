#include "eager/number_range.h"

#include <cmath>
#include <limits>

#include "runtime/base/error.h"

namespace tandem {

bool holdsNumber(DType dtype, const Scalar& value) {
  if (isFloating(dtype) || dtype == DType::Bool || value.kind == Scalar::Kind::Bool) return true;
  const bool isSigned = dtype != DType::UInt8;
  const int bits = static_cast<int>(8 * itemSize(dtype)) - (isSigned ? 1 : 0);
  if (value.isFloat()) {
    // Beyond int64 the bounds are powers of two, which are doubles; NaN is in no range.
    const double v = value.asDouble();
    const double end = std::ldexp(1.0, bits);
    return v >= (isSigned ? -end : 0.0) && (bits == 63 ? v < end : v <= end - 1);
  }
  if (bits == 63) return true;
  const std::int64_t v = value.asInt();
  const std::int64_t most = (std::int64_t{1} << bits) - 1;
  return v <= most && v >= (isSigned ? -most - 1 : -most);
}

void needHeld(const char* op, DType dtype, const Scalar& value) {
  if (holdsNumber(dtype, value)) return;
  if (value.isFloat())
    fail(op, ": value ", value.asDouble(), " cannot be converted to ", dtypeName(dtype), " without overflow");
  fail(op, ": value ", value.asInt(), " cannot be converted to ", dtypeName(dtype), " without overflow");
}

std::size_t pieceCount(const char* op, std::int64_t count) {
  if (count > std::numeric_limits<std::int32_t>::max())
    fail<OutOfMemoryError>(op, ": out of memory: cannot make ", count, " tensors");
  return static_cast<std::size_t>(count);
}

}  // namespace tandem
