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
  /// Not -1: a run-time scalar of the trace being recorded (a float argument, a learning rate). Its value is what it
  /// was while tracing: whoever reads it makes the trace hold for that value only.
  std::int32_t slot = -1;

  Scalar() = default;
  // NOLINTBEGIN(google-explicit-constructor): rules read `sub(1, x)`
  Scalar(bool v) : kind(Kind::Bool), i_(v ? 1 : 0) {}
  Scalar(int v) : kind(Kind::Int), i_(v) {}
  Scalar(std::int64_t v) : kind(Kind::Int), i_(v) {}
  Scalar(double v) : kind(Kind::Float), d_(v) {}
  // NOLINTEND(google-explicit-constructor)

  [[nodiscard]] bool isFloat() const { return kind == Kind::Float; }
  [[nodiscard]] double asDouble() const {
    noteRead();
    return recorded();
  }
  [[nodiscard]] std::int64_t asInt() const {
    noteRead();
    return isFloat() ? static_cast<std::int64_t>(d_) : i_;
  }
  /// The 64 bits handed to a kernel: the double of a float, the integer of an int or bool.
  [[nodiscard]] std::int64_t bits() const {
    noteRead();
    return isFloat() ? std::bit_cast<std::int64_t>(d_) : i_;
  }
  /// For the recording itself, which makes the value a slot's.
  [[nodiscard]] double recorded() const { return isFloat() ? d_ : static_cast<double>(i_); }

  /// Is told of each reading of a run-time scalar's value; set by what records (lazy/session.h).
  inline static void (*onRead)(const Scalar& s) = nullptr;

 private:
  void noteRead() const {
    if (slot >= 0 && onRead != nullptr) onRead(*this);
  }
  union {
    std::int64_t i_ = 0;
    double d_;
  };
};

}  // namespace tandem
