#include "eager/number_range.h"

#include <cmath>
#include <limits>

#include "runtime/base/error.h"

namespace tandem {

std::pair<std::int64_t, std::int64_t> integerRange(DType t) {
  if (t == DType::Bool) return {0, 1};
  if (t == DType::UInt8) return {0, 255};
  const int bits = 8 * static_cast<int>(itemSize(t)) - 1;
  const auto most = static_cast<std::int64_t>(~std::uint64_t{0} >> (64 - bits));
  return {-most - 1, most};
}

namespace {

/// The largest finite number of a floating dtype.
double largest(DType t) {
  if (t == DType::Float16) return 65504;
  if (t == DType::BFloat16) return 0x1.FEp127;
  return t == DType::Float32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
}

}  // namespace

bool holdsNumber(DType dtype, const Scalar& value) {
  if (dtype == DType::Bool || value.kind == Scalar::Kind::Bool) return true;
  if (isFloating(dtype)) {
    const double v = value.recorded();
    if (value.slot >= 0 && onHeld != nullptr && dtype != DType::Float64) onHeld(value, largest(dtype));
    return !std::isfinite(v) || std::abs(v) <= largest(dtype);
  }
  const auto [least, most] = integerRange(dtype);
  if (value.isFloat()) {
    // The largest int64 is no double, but the number behind it is; NaN is in no range.
    const double v = value.asDouble();
    const bool whole = most == std::numeric_limits<std::int64_t>::max();
    return v >= static_cast<double>(least) && (whole ? v < 0x1p63 : v <= static_cast<double>(most));
  }
  const std::int64_t v = value.asInt();
  return v <= most && v >= (least == 0 ? -most : least);
}

void needHeld(std::string_view op, DType dtype, const Scalar& value) {
  if (holdsNumber(dtype, value)) return;
  if (value.isFloat())
    fail(op, ": value ", value.asDouble(), " cannot be converted to ", dtypeName(dtype), " without overflow");
  fail(op, ": value ", value.asInt(), " cannot be converted to ", dtypeName(dtype), " without overflow");
}

void needHeldByAll(std::string_view op, DType dtype, std::int64_t count, const Scalar& value) {
  if (count > 1 || !isHalf(dtype)) needHeld(op, dtype, value);
}

std::size_t pieceCount(const char* op, std::int64_t count) {
  if (count > std::numeric_limits<std::int32_t>::max())
    fail<OutOfMemoryError>(op, ": out of memory: cannot make ", count, " tensors");
  return static_cast<std::size_t>(count);
}

}  // namespace tandem
