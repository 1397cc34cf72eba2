#include "runtime/plan/scalar_slots.h"

#include <cmath>

#include "runtime/base/error.h"

namespace tandem {

namespace {

using Source = ScalarSlot::Source;

[[noreturn]] void divisionByZero() { fail<ValueError>("division by zero in the arithmetic of a scalar argument"); }

// The sign of a result of % follows the divisor, in Python.
double pythonMod(double a, double b) {
  if (b == 0) divisionByZero();
  double r = std::fmod(a, b);
  if (r == 0) return std::copysign(0.0, b);
  return (r < 0) != (b < 0) ? r + b : r;
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
    if (a == 0 && b < 0) fail<ValueError>("0.0 cannot be raised to a negative power");
    return std::pow(a, b);
  case Source::Neg:
    return -a;
  case Source::FloorDiv: {
    double mod = pythonMod(a, b);
    double quotient = (a - mod) / b;
    // The quotient is integral but for the rounding of the division.
    double floored = std::floor(quotient);
    if (quotient - floored > 0.5) floored += 1;
    return quotient == 0 ? std::copysign(0.0, a / b) : floored;
  }
  default:
    return pythonMod(a, b);
  }
}

std::int64_t wrapping(std::uint64_t v) { return static_cast<std::int64_t>(v); }

std::int64_t integerPower(std::uint64_t base, std::int64_t exponent) {
  std::uint64_t result = 1;
  for (; exponent > 0; exponent >>= 1, base *= base)
    if (exponent & 1) result *= base;
  return wrapping(result);
}

Scalar integers(Source source, std::int64_t a, std::int64_t b) {
  auto ua = static_cast<std::uint64_t>(a);
  auto ub = static_cast<std::uint64_t>(b);
  switch (source) {
  case Source::Add:
    return wrapping(ua + ub);
  case Source::Sub:
    return wrapping(ua - ub);
  case Source::Mul:
    return wrapping(ua * ub);
  case Source::Neg:
    return wrapping(0 - ua);
  case Source::Pow:
    if (b >= 0) return integerPower(ua, b);
    return floats(source, static_cast<double>(a), static_cast<double>(b));
  case Source::Div:
    return floats(source, static_cast<double>(a), static_cast<double>(b));
  default:
    break;
  }
  if (b == 0) divisionByZero();
  if (b == -1) return source == Source::FloorDiv ? wrapping(0 - ua) : std::int64_t{0};
  std::int64_t quotient = a / b;
  std::int64_t rest = a % b;
  bool floors = rest != 0 && (rest < 0) != (b < 0);
  if (source == Source::FloorDiv) return floors ? quotient - 1 : quotient;
  return floors ? rest + b : rest;
}

}  // namespace

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
      const Scalar& b = slot.b < 0 ? a : values[static_cast<std::size_t>(slot.b)];
      values[i] = a.isFloat() || b.isFloat() ? floats(slot.source, a.asDouble(), b.asDouble())
                                             : integers(slot.source, a.asInt(), b.asInt());
    }
    }
  }
}

}  // namespace tandem
