#include "runtime/plan/scalar_slots.h"

#include <cmath>

#include "runtime/base/error.h"

namespace tandem {

namespace {

using Source = ScalarSlot::Source;

[[noreturn]] void divisionByZero() { fail<ValueError>("division by zero in the arithmetic of a scalar argument"); }
[[noreturn]] void beyond() { fail<ValueError>("the arithmetic of a scalar argument leaves the range of its numbers"); }

/// The quotient, rounded down, and the rest, whose sign is that of the divisor.
struct Quotient {
  double floored, rest;
};
Quotient pythonDivide(double a, double b) {
  if (b == 0) divisionByZero();
  double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest == 0) {
    rest = std::copysign(0.0, b);
  } else if ((rest < 0) != (b < 0)) {
    rest += b;
    quotient -= 1;
  }
  // The quotient is integral but for the rounding of the division.
  double floored = std::floor(quotient);
  if (quotient - floored > 0.5) floored += 1;
  return {quotient == 0 ? std::copysign(0.0, a / b) : floored, rest};
}

/// Of finite numbers, which Python raises errors for, or gives a complex number, where it is not finite.
double finite(double value, double a, double b = 0) {
  if (!std::isfinite(value) || !std::isfinite(a) || !std::isfinite(b)) beyond();
  return value;
}

Scalar floats(Source source, double a, double b) {
  switch (source) {
  case Source::Add:
    return a + b;
  case Source::Sub:
    return a - b;
  case Source::Mul:
    return a * b;
  case Source::Div:
    if (b == 0) divisionByZero();
    return a / b;
  case Source::Pow:
    return finite(std::pow(a, b), a, b);
  case Source::Neg:
    return -a;
  case Source::FloorDiv:
    return pythonDivide(a, b).floored;
  case Source::Mod:
    return pythonDivide(a, b).rest;
  case Source::Sqrt:
    return finite(std::sqrt(a), a);
  case Source::Exp:
    return finite(std::exp(a), a);
  case Source::Log:
    return finite(std::log(a), a);
  case Source::Sin:
    return finite(std::sin(a), a);
  case Source::Cos:
    return finite(std::cos(a), a);
  case Source::Tanh:
    return finite(std::tanh(a), a);
  default:
    fail<InternalError>("no arithmetic of scalars");
  }
}

std::int64_t power(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  for (bool over = false; exponent > 0;) {
    if ((exponent & 1) != 0) over = __builtin_mul_overflow(result, base, &result);
    exponent >>= 1;
    if (exponent > 0) over = __builtin_mul_overflow(base, base, &base) || over;
    if (over) beyond();
  }
  return result;
}

/// An int as the float that it is exactly.
double exact(std::int64_t v) {
  constexpr std::int64_t kMost = std::int64_t{1} << 53;
  if (v > kMost || v < -kMost) beyond();
  return static_cast<double>(v);
}

Scalar integers(Source source, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  switch (source) {
  case Source::Add:
    if (__builtin_add_overflow(a, b, &result)) beyond();
    return result;
  case Source::Sub:
    if (__builtin_sub_overflow(a, b, &result)) beyond();
    return result;
  case Source::Mul:
    if (__builtin_mul_overflow(a, b, &result)) beyond();
    return result;
  case Source::Neg:
    if (__builtin_sub_overflow(std::int64_t{0}, a, &result)) beyond();
    return result;
  case Source::Pow:
    if (b >= 0) return power(a, b);
    [[fallthrough]];
  case Source::Div:
    return floats(source, exact(a), exact(b));
  case Source::FloorDiv:
  case Source::Mod:
    break;
  default:
    return floats(source, static_cast<double>(a), 0);
  }
  if (b == 0) divisionByZero();
  if (b == -1) return source == Source::FloorDiv ? integers(Source::Neg, a, 0) : Scalar(std::int64_t{0});
  const std::int64_t quotient = a / b;
  const std::int64_t rest = a % b;
  const bool floors = rest != 0 && (rest < 0) != (b < 0);
  if (source == Source::FloorDiv) return floors ? quotient - 1 : quotient;
  return floors ? rest + b : rest;
}

std::int64_t wrapping(std::uint64_t v) { return static_cast<std::int64_t>(v); }

}  // namespace

Scalar computeSlot(Source source, const Scalar& a, const Scalar& b) {
  const bool one = source == Source::Neg || source > Source::Mod;
  return a.isFloat() || (!one && b.isFloat()) ? floats(source, a.asDouble(), b.asDouble())
                                              : integers(source, a.asInt(), b.asInt());
}

void evaluateSlots(std::span<const ScalarSlot> slots, const PlanRun& run, std::span<Scalar> values) {
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const ScalarSlot& slot = slots[i];
    switch (slot.source) {
    case Source::Constant:
      values[i] = slot.value;
      break;
    case Source::Argument: {
      auto at = static_cast<std::size_t>(slot.a);
      TANDEM_CHECK(at < run.arguments.size(), "scalar argument ", slot.a, " of ", run.arguments.size());
      values[i] = run.arguments[at];
      break;
    }
    case Source::RngSeed:
      values[i] = Scalar(run.seed);
      break;
    case Source::RngOffset:
      values[i] = Scalar(wrapping(static_cast<std::uint64_t>(run.offset) + static_cast<std::uint64_t>(slot.a)));
      break;
    default: {
      const Scalar& a = values[static_cast<std::size_t>(slot.a)];
      values[i] = computeSlot(slot.source, a, slot.b < 0 ? a : values[static_cast<std::size_t>(slot.b)]);
      // An int to a power of another sign is a number of another kind, for which the plan was not made.
      if (values[i].kind != slot.value.kind) beyond();
    }
    }
  }
}

}  // namespace tandem
