// A Python number: a weakly typed immediate operand. Its category (bool, int, float) takes part in promotion, its
// width does not.
#pragma once

#include <bit>
#include <cstdint>

#include "runtime/base/dtype.h"

namespace tandem {

struct Scalar {
  enum class Kind : std::uint8_t { Bool, Int, Float };
  Kind kind = Kind::Int;
  /// Which recording the slot belongs to; to all others the number is its value.
  std::uint16_t recording = 0;
  /// Not -1: a run-time scalar of the trace being recorded (a float argument, a learning rate); `value` then holds
  /// what it was while tracing, for shape rules and messages only.
  std::int32_t slot = -1;
  union {
    std::int64_t i = 0;
    double d;
  };

  Scalar() = default;
  // NOLINTBEGIN(google-explicit-constructor): rules read `sub(1, x)`
  Scalar(bool v) : kind(Kind::Bool), i(v ? 1 : 0) {}
  Scalar(int v) : kind(Kind::Int), i(v) {}
  Scalar(std::int64_t v) : kind(Kind::Int), i(v) {}
  Scalar(double v) : kind(Kind::Float), d(v) {}
  // NOLINTEND(google-explicit-constructor)

  [[nodiscard]] bool isFloat() const { return kind == Kind::Float; }
  [[nodiscard]] double asDouble() const { return isFloat() ? d : static_cast<double>(i); }
  [[nodiscard]] std::int64_t asInt() const { return isFloat() ? static_cast<std::int64_t>(d) : i; }
  /// The 64 bits handed to a kernel: the double of a float, the integer of an int or bool.
  [[nodiscard]] std::int64_t bits() const { return isFloat() ? std::bit_cast<std::int64_t>(d) : i; }
};

}  // namespace tandem
