// The arithmetic of a reduction, whatever the builder: what two accumulators combine to, and what combining nothing
// gives. In which order elements meet is kernel_signature.h's business; that it is the same on every device makes their
// bits the same.
#pragma once

#include <cstdint>

#include "runtime/base/dtype.h"
#include "runtime/base/op_code.h"

namespace tandem::codegen {

enum class Combine : std::uint8_t { Sum, Prod, Max, Min, Any, All };

/// How a reduction combines two values. InternalError where `op` is no reduction.
Combine combinerOf(OpCode op);

class Combiner {
 public:
  /// `accumulator` is the reduce step's dtype. Bool is accumulated as bytes of 0 and 1, which registers hold better
  /// than single bits.
  Combiner(Combine combine, DType accumulator);

  /// Of the accumulators.
  [[nodiscard]] DType type() const { return type_; }
  /// The identity. Of integers (`isIntegral`) its bits, of floats its value; reducing no element gives that but +0.0
  /// for a sum.
  [[nodiscard]] bool isIntegral() const { return !isFloating(type_); }
  [[nodiscard]] std::uint64_t identityBits() const;
  [[nodiscard]] double identityValue() const;
  [[nodiscard]] double valueOfNothing() const;
  /// `sum`, `prod`, `max` or `min`.
  [[nodiscard]] const char* name() const;
  [[nodiscard]] bool isProduct() const { return combine_ == Combine::Prod; }
  /// A greatest or least value.
  [[nodiscard]] bool isExtreme() const { return combine_ == Combine::Max || combine_ == Combine::Min; }

  template <class B>
  typename B::V combine(B& b, typename B::V accumulator, typename B::V next) const {
    if (combine_ == Combine::Sum) return b.add(accumulator, next);
    if (combine_ == Combine::Prod) return b.mul(accumulator, next);
    // A NaN in the accumulator stays because the comparison is false, one that comes is taken in.
    const auto better = combine_ == Combine::Max ? b.gt(next, accumulator) : b.lt(next, accumulator);
    const auto chosen = b.select(better, next, accumulator);
    return isFloating(type_) ? b.select(b.ne(next, next), next, chosen) : chosen;
  }
  /// A value of the body as one to accumulate, and a result as a value of the body.
  template <class B>
  typename B::V enter(B& b, typename B::V value) const {
    return b.cast(b.cast(value, logical_), type_);
  }
  template <class B>
  typename B::V leave(B& b, typename B::V accumulated) const {
    return b.cast(accumulated, logical_);
  }

 private:
  Combine combine_;
  DType logical_;
  DType type_;
};

}  // namespace tandem::codegen
